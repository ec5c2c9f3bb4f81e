from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foldless import KernelLogisticRegression

NAME = "foldless"


def build():
    return make_pipeline(StandardScaler(), KernelLogisticRegression())
