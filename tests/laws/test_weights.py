"""A row of weight 2 is the row twice, and one of weight 0 is absent: in starts, tolerances, checks and criteria alike."""

import pytest
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)

from foldless import KernelClassifier, KernelLogisticRegression, KernelRegressor
from foldless.kernels.families import FAMILIES

# The additive kernels are missing: 30 amplitudes on the 15 rows of these checks have no unique optimum.
KERNELS = [*FAMILIES, "linear", "poly", "power-exponential", "rbf-ard"]
CHECKS = [check_sample_weight_equivalence_on_dense_data, check_sample_weight_equivalence_on_sparse_data]


@pytest.mark.filterwarnings("ignore::foldless.core.errors.FoldlessWarning")
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kernel", KERNELS)
def test_whatever_the_kernel(kernel, check):
    check("KernelLogisticRegression", KernelLogisticRegression(kernel))


@pytest.mark.filterwarnings("ignore::foldless.core.errors.FoldlessWarning")
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("make", [KernelClassifier, KernelRegressor])
def test_whatever_the_default_chooses_among_all_families(make, check):
    check(make.__name__, make())
