"""``dir`` and the HTML of fitted estimators, which notebooks ask for, also where an attribute is undefined."""

import pytest
from sklearn.base import is_classifier
from sklearn.svm import SVC, SVR

from foldless import KernelClassifier, KernelSearch, KernelSubsetRegressor

MODELS = {
    "search for a support vector machine": (KernelSearch(SVC()), {"loo_predict_"}, {"leverage_"}),
    "search with folds": (KernelSearch(SVR()), {"best_params_"}, {"leverage_", "learning_curve_"}),
    "subset": (KernelSubsetRegressor(), {"loo_predict_"}, {"learning_curve_"}),
    "default": (KernelClassifier(), {"leverage_", "learning_curve_"}, set()),
}


@pytest.mark.parametrize("name", MODELS)
def test_undefined_attributes_are_left_out(name, two_classes):
    X, y = two_classes
    model, there, undefined = MODELS[name]
    model.fit(X, y if is_classifier(model) else X[:, 0] + 0.1 * y)
    assert there <= {*dir(model)}
    assert not undefined & {*dir(model)}
    assert type(model).__name__ in model._repr_html_()
