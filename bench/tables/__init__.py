"""The tables by name; a new one is listed here, with a file that tells what is run and how it is rendered."""

from bench.tables.base import Table
from bench.tables.calibration import Calibration
from bench.tables.coverage import Coverage
from bench.tables.coverage_classes import CoverageClasses
from bench.tables.coverage_sets import CoverageSets
from bench.tables.criteria_cost import CriteriaCost
from bench.tables.gold import Gold
from bench.tables.growth import Growth
from bench.tables.jackknife import Jackknife
from bench.tables.kernel_search import KernelSearchTable
from bench.tables.many_rows import ManyRows
from bench.tables.multiclass import Multiclass
from bench.tables.overfitting import Overfitting
from bench.tables.ridge import RidgeJoint, RidgePathTable, RidgePerInput
from bench.tables.select_kernel import SelectKernel
from bench.tables.speed import Speed
from bench.tables.suspicious import Suspicious
from bench.tables.svc_criteria import SVCCriteria
from bench.tables.svm_path import SVMPath
from bench.tables.tables import Tables
from bench.tables.workers import WorkersTable

ALL: tuple[Table, ...] = (
    Speed(),
    KernelSearchTable(),
    Overfitting(),
    ManyRows(),
    Tables(),
    WorkersTable(),
    Growth(),
    SVCCriteria(),
    Multiclass(),
    RidgePathTable(),
    RidgeJoint(),
    RidgePerInput(),
    SVMPath(),
    SelectKernel(),
    CriteriaCost(),
    Gold(),
    Coverage(),
    CoverageSets(),
    CoverageClasses(),
    Calibration(),
    Jackknife(),
    Suspicious(),
)
TABLES = {table.name: table for table in ALL}
