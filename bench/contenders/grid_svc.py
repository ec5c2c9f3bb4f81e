import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

NAME = "grid"
GRID = {"svc__C": np.logspace(-2, 4, 10), "svc__gamma": np.logspace(-4, 1, 10)}


def build():
    return GridSearchCV(make_pipeline(StandardScaler(), SVC(kernel="rbf")), GRID, cv=10, n_jobs=2)
