"""KernelSearch: tune scikit-learn's own estimators without folds."""
