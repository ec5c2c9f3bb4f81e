"""What is fitted, one small class each; a table builds its own list of them."""

from bench.contenders.base import Contender, Measurement
from bench.contenders.grids import GridSearch, HalvingSearch, OptunaSearch, SmallGridSearch
from bench.contenders.liquidsvm import LiquidSVM
from bench.contenders.ours import (
    LOGISTIC,
    LSSVM,
    RIDGE,
    SVM,
    Foldless,
    FoldlessDefault,
    FoldlessOnDask,
    FoldlessOneWidth,
    SearchedSVC,
)
from bench.contenders.scikit import Boosting, Forest, GaussianProcess, Linear, NystroemLinear, TunedBoosting
from bench.contenders.xrfm import RecursiveFeatureMachine

__all__ = [
    "LOGISTIC", "LSSVM", "RIDGE", "SVM",
    "Boosting", "Contender", "Foldless", "FoldlessDefault", "FoldlessOnDask", "FoldlessOneWidth", "Forest", "GaussianProcess", "GridSearch", "HalvingSearch",
    "Linear", "LiquidSVM", "Measurement", "NystroemLinear", "OptunaSearch", "RecursiveFeatureMachine", "SearchedSVC", "SmallGridSearch", "TunedBoosting",
]  # fmt: skip
