r"""select() = representation + objective + search + final solve.

The search runs where it is cheap. With ``gram="auto"`` it starts on a few landmarks and checks, at the optimum found,

.. math:: e = \sum_i w_i (K_{ii} - \tilde K_{ii}),  \tag{1}

which bounds what the approximation hides of the effective number of parameters and of the log-determinant (w are the
precisions of the solution, for kernel logistic regression :math:`C p(1-p)`). While e is not small against n the
search goes on from there with more landmarks, and at last with the whole matrix.
"""

import time
import warnings
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from joblib import hash as joblib_hash
from sklearn.gaussian_process.kernels import CompoundKernel, ConstantKernel, Kernel

from foldless import criteria, searches
from foldless.contracts import Box, Outcome, Step, Stop
from foldless.criterion import Criterion
from foldless.errors import (
    CriterionWarning,
    LandmarkWarning,
    SearchWarning,
    Undefined,
    UnknownName,
    UnreadableSolution,
)
from foldless.held_out import held_out_cost, improvements, machine_of_rows, set_aside
from foldless.jobs import one_blas_thread, side_by_side
from foldless.machines import Untrained
from foldless.named import named_kernel
from foldless.objective import Problem
from foldless.representation import Dense, Nystrom, has_noise, spread_landmarks, uniform_landmarks
from foldless.starts import sobol_starts
from foldless.verbs import diagonal
from foldless.walk import Search

GRAMS = ("auto", "dense", "lowrank", "nystrom")
SMALL = 250  # rows up to which the whole matrix is the cheapest Gram
FINISH = 1500  # rows up to which the last fit is on the whole matrix even where the search needed less
LARGE = 2000  # rows up to which a search can afford the whole matrix
HUGE = 5000  # rows up to which the last fit can
FIRST, GROWTH = 100, 3  # landmarks to begin with, and how they multiply
NEGLIGIBLE = 0.03  # e / n of eq. (1) below which more landmarks change nothing that matters
ENOUGH = 0.3  # the same before the whole matrix, whose looks cost ten times more
MEMORY = 1.5e8  # numbers in a low-rank factor
WORK, LAST_WORK = 5e9, 3e10  # n m^2 of one look, and of the last fit
REGULARISATION = (1e-5, 1e7)  # of C times the mean diagonal of K
PREPARE = 800  # rows up to which a criterion prepares itself on the whole matrix
PATH = 15  # regularisation values looked at on one Gram before the descent: there may be several minima
CUT_SHORT = (Stop.BUDGET, Stop.TIME, Stop.INTERRUPTED)
WIDTHS, STRENGTHS = (
    (-2.0, -1.0, 0.0, 1.0, 2.0),
    (0.0, 3.0),
)  # coarse look: log width and log C about the start


@dataclass(frozen=True, eq=False)
class Trial:
    """One candidate kernel and what became of it.

    Attributes
    ----------
    kernel : Kernel
        With its chosen parameters.
    value : float
        The criterion there; ``inf`` where it is undefined.
    outcome : Outcome or None
        The whole search; ``None`` if it found nothing.
    note : str
        Why it found nothing.
    """

    kernel: Kernel
    value: float
    outcome: Outcome | None
    note: str = ""


@dataclass(frozen=True, eq=False)
class Selection:
    """What was chosen, and how.

    Attributes
    ----------
    kernel, machine, criterion
        The chosen hyper-parameters and what chose them.
    representation, solution, reading
        The final fit, and the criterion there.
    outcome : Outcome
        The whole search.
    gap : float
        e / n of eq. (1) at the final fit: 0 for a whole matrix.
    problem : Problem
        What was evaluated last: ``problem.solve(theta)`` fits at any other point, such as ``outcome.optima``.
    fine : tuple of Step
        The steps that were taken on the last representation: their values can be compared.
    trials : tuple of Trial
        Every candidate kernel in the order given, the chosen one among them.
    """

    kernel: Kernel
    machine: Any
    criterion: Criterion
    representation: Any
    solution: Any
    reading: Any
    outcome: Outcome
    gap: float
    problem: Problem
    fine: tuple[Step, ...] = ()
    trials: tuple[Trial, ...] = ()


def select(
    X,
    Y,
    *,
    kernel,
    machine,
    criterion,
    search="lbfgs",
    tune_machine=True,
    regularisation=None,
    gram="auto",
    n_components=None,
    finer=True,
    n_starts=None,
    max_evaluations=None,
    time_budget=None,
    random_state=None,
    n_jobs=None,
    watch=None,
    checkpoint=None,
):
    """Choose the parameters of ``kernel`` and ``machine`` by ``criterion``, and fit.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, k)
    kernel : str, Kernel, or list of them
        Of several, the one with the lowest criterion is chosen.
    machine : Machine
    criterion, search : str or object
    tune_machine : bool
        Whether the regularisation is tuned along.
    regularisation : pair of float, optional
        Lowest and highest value of it (of C, or alpha); by default a wide range in units of the kernel's diagonal.
    gram : {"auto", "dense", "lowrank", "nystrom"}
    n_components : int, optional
        Landmarks of a low-rank Gram.
    finer : bool
        Whether the last fit may be on a finer Gram than the search needed; not worth it where only the parameters
        are wanted.
    n_starts : int, optional
        Descents of the search.
    max_evaluations, time_budget : optional
        Budgets, shared evenly among candidate kernels.
    random_state : int, RandomState or None
        Draws the landmarks, the same ones for every candidate; ``None`` draws as 0 does.
    n_jobs : int, optional
        Candidates, or the starts of one candidate, side by side; see :func:`foldless.jobs.side_by_side`.
    watch : callable, optional
        Called with every :class:`Step`.
    checkpoint : path, optional
        File to which steps are appended, and from which a killed run continues. One file may serve several calls:
        each has chapters under a fingerprint of its data and settings.

    Returns
    -------
    selection : Selection
    """
    candidates = kernel if isinstance(kernel, (list, tuple)) else [kernel]
    if not len(candidates):
        raise ValueError("kernel must name at least one candidate, got an empty list.")
    kernels = [as_kernel(candidate, X) for candidate in candidates]
    several = len(kernels) > 1
    criterion = as_criterion(criterion)
    criterion.check_choice(kernels)
    seed = _seed(random_state)
    criterion = criterion.prepared(machine, looks(kernels, X, seed), Y)
    retune = tune_machine and criterion.blind
    if time_budget is not None:
        time_budget *= _at_a_time(n_jobs, len(kernels)) / len(kernels)
    plan = Plan(
        X=X,
        Y=Y,
        machine=machine,
        criterion=criterion,
        search=as_search(search, n_starts),
        tune_machine=tune_machine and not criterion.blind,
        regularisation=regularisation,
        gram=gram,
        n_components=n_components,
        finer=finer,
        seed=seed,
        max_evaluations=_share(max_evaluations, len(kernels)),
        time_budget=time_budget,
        n_jobs=None if several else n_jobs,
        watch=watch,
        checkpoint=checkpoint,
    )
    with one_blas_thread(X.shape[0]):
        best = _lowest(_try_all(plan, kernels, n_jobs), kernels)
        advise(criterion, best.solution)
        return retuned(best, plan) if retune else best


def _try_all(plan, kernels, n_jobs):
    """Return a selection per kernel, or the error where there is none; an interrupt ends it with those found."""
    found = [Undefined("the search was interrupted before this kernel's turn.") for _ in kernels]
    interrupted = Event()

    def attempt(i):
        if interrupted.is_set():
            return
        try:
            found[i] = plan.run(kernels[i], i)
        except Undefined as error:
            found[i] = error
        else:
            if found[i].outcome.stop == Stop.INTERRUPTED:
                interrupted.set()

    if len(kernels) == 1:
        return [plan.run(kernels[0])]
    try:
        side_by_side([partial(attempt, i) for i in range(len(kernels))], n_jobs)
    except KeyboardInterrupt:  # it reaches the threads no other way
        interrupted.set()
        if not any(isinstance(selection, Selection) for selection in found):
            raise
        plan.tell(Stop.INTERRUPTED)
    return found


def _lowest(found, kernels):
    """Return the selection of the lowest criterion, with the others listed."""
    chosen = [selection for selection in found if isinstance(selection, Selection)]
    if not chosen:
        raise found[0]
    trials = tuple(
        Trial(s.kernel, float(s.reading.value), s.outcome)
        if isinstance(s, Selection)
        else Trial(kernel, np.inf, None, str(s))
        for s, kernel in zip(found, kernels, strict=True)
    )
    return replace(min(chosen, key=lambda selection: selection.reading.value), trials=trials)


def advise(criterion, solution):
    """Warn if what ``criterion`` chose is one of its known traps."""
    message = criterion.caution(solution)
    if message:
        warnings.warn(CriterionWarning(message), stacklevel=3)


def regularise(machine, gram, Y, **options):
    """Choose the machine's regularisation on one Gram by leave-one-out; return the machine and the outcome.

    Criteria of kernel and targets alone do not change with the scale of the kernel, so they say nothing about C. A
    machine whose leave-one-out is dear names another criterion, ``judged_by``.
    ``options`` are fields of :class:`Plan`.
    """
    by, nothing = as_criterion(getattr(machine, "judged_by", "loo")), ConstantKernel(1.0, "fixed")
    machine = getattr(machine, "along", machine)
    search = searches.LBFGS(tolerance=1e-8)  # evaluations on one Gram are cheap
    plan = Plan(X=None, Y=Y, machine=machine, criterion=by, search=search, **options)
    problem = Problem(nothing, machine, by, Held(gram), Y)
    scale = float(np.mean(gram.diag()))
    starts = plan.of_strength(scale, np.linspace(*np.log(REGULARISATION), PATH)).reshape(-1, 1)
    outcome = plan.walk(problem, scale, list(starts), None, plan.deadline(), 0)
    return problem.at(outcome.best.theta)[1], outcome


def retuned(selection, plan):
    """Return the selection with the regularisation chosen by leave-one-out: its own criterion is blind to it."""
    options = {name: getattr(plan, name) for name in ("time_budget", "watch", "regularisation")}
    try:
        machine, outcome = regularise(selection.machine, selection.solution.gram, plan.Y, **options)
    except UnreadableSolution:
        message = (
            f"{selection.criterion.name} says nothing about the regularisation; it was left as it is. Fix it."
        )
        warnings.warn(CriterionWarning(message), stacklevel=3)
        return selection
    solution = machine.solve(selection.solution.gram, plan.Y)
    whole = replace(selection.outcome, trace=selection.outcome.trace + outcome.trace)
    return replace(
        selection, machine=machine, solution=solution, reading=selection.criterion(solution), outcome=whole
    )


@dataclass(frozen=True, eq=False)
class Held:
    """The representation of a Gram that stays as it is."""

    held: Any

    def gram(self, kernel):
        """Return the Gram."""
        return self.held


def looks(kernels, X, seed):
    """Yield Grams around the kernels as given, for what a criterion estimates once before the search."""
    few, rng = X.shape[0] <= PREPARE, np.random.default_rng(seed)
    for kernel in kernels:
        plain = few or has_noise(kernel) or is_precomputed(kernel)
        representation = Dense(X) if plain else Nystrom(X, spread_landmarks(X, PREPARE // 2, rng))
        low, high = kernel.bounds.reshape(-1, 2).T
        for width in WIDTHS if len(kernel.theta) else (0.0,):
            theta = np.clip(kernel.theta + width, low, high)
            yield representation.gram(kernel.clone_with_theta(theta) if len(theta) else kernel)


def _share(budget, n):
    return None if budget is None else max(1, budget // n)


def _at_a_time(n_jobs, n):
    return 1 if n_jobs is None else min(n, effective_n_jobs(n_jobs))


def _seed(random_state):
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**31)
    return 0 if random_state is None else random_state


def as_kernel(kernel, X):
    """Return a kernel object for a name or a kernel."""
    if isinstance(kernel, str):
        return named_kernel(kernel, X)
    if not isinstance(kernel, Kernel) or isinstance(kernel, CompoundKernel):
        raise TypeError(
            f"kernel must be a name, an object of sklearn.gaussian_process.kernels, or a list of them; got {kernel!r}."
        )
    return kernel


def as_criterion(criterion):
    """Return a criterion object for a name or an object."""
    if isinstance(criterion, Criterion):
        return criterion
    if criterion not in criteria.BY_NAME:
        raise UnknownName("criterion", criterion, criteria.BY_NAME)
    return criteria.BY_NAME[criterion]()


def as_search(search, n_starts=None):
    """Return a search object for a name or an object."""
    if not isinstance(search, Search):
        if search not in searches.BY_NAME:
            raise UnknownName("search", search, searches.BY_NAME)
        search = searches.BY_NAME[search]()
    if n_starts is None or not hasattr(search, "n_starts"):
        return search
    return replace(search, n_starts=n_starts)


def stages(kernel, X, gram, n_components, rng):
    """Yield the representations to search on, from cheap to exact."""
    n = X.shape[0]
    if gram not in GRAMS:
        raise UnknownName("gram", gram, GRAMS)
    if n_components is not None and n_components > n:
        message = f"n_components={n_components} is more than the {n} rows; all of them are used."
        warnings.warn(LandmarkWarning(message), stacklevel=2)
    if gram == "dense" or (gram == "auto" and (n <= SMALL or has_noise(kernel) or is_precomputed(kernel))):
        yield Dense(X)
        return
    if has_noise(kernel):
        raise ValueError(f"gram={gram!r} cannot hold the WhiteKernel of {kernel}; use gram='dense'.")
    draw = uniform_landmarks if gram == "nystrom" else spread_landmarks
    for m in landmark_counts(n, gram, n_components):
        yield Nystrom(X, draw(X, m, rng))
    if gram == "auto" and n <= LARGE and n_components is None:
        yield Dense(X)


def landmark_counts(n, gram, n_components):
    """Numbers of landmarks to try in turn."""
    if n_components is not None:
        return [min(n, n_components)]
    most = affordable(n, WORK) if n > LARGE or gram != "auto" else n / 3
    counts = [FIRST]
    while counts[-1] * GROWTH <= most:
        counts.append(counts[-1] * GROWTH)
    return counts


def affordable(n, work):
    """Largest number of landmarks for the given work per pass over the rows."""
    return int(min(n, max(FIRST, min(np.sqrt(work / n), MEMORY / n))))


def last_representation(X, rng):
    """Return the finest representation that one fit can afford."""
    m = affordable(X.shape[0], LAST_WORK)
    return Dense(X) if X.shape[0] <= HUGE else Nystrom(X, spread_landmarks(X, m, rng))


def is_precomputed(kernel):
    """Tell whether the points are the Gram matrix itself."""
    return type(kernel).__name__ == "Precomputed"


@dataclass(frozen=True, eq=False)
class Plan:
    """What stays the same for every candidate kernel."""

    X: Any
    Y: Any
    machine: Any
    criterion: Criterion
    search: Search
    tune_machine: bool = True
    regularisation: tuple[float, float] | None = None
    gram: str = "auto"
    n_components: int | None = None
    finer: bool = True
    seed: Any = 0
    max_evaluations: int | None = None
    time_budget: float | None = None
    n_jobs: int | None = None
    watch: Any = None
    checkpoint: Any = None

    def run(self, kernel, number=0):
        """Search and fit; on a part of the rows first where the search is to be stopped by the others."""
        if not hasattr(self.search, "validation"):
            return self.descend(kernel, number)
        return self.stopped_early(kernel, number)

    def stopped_early(self, kernel, number):
        """Search on a part of the rows, fit all of them at the step that is best on the other part."""
        if is_precomputed(kernel):
            raise ValueError("early stopping needs points, not a precomputed Gram matrix.")
        train, test = set_aside(self.Y, self.search.validation, self.search.seed)
        machine = machine_of_rows(self.machine, train)
        part = replace(self, X=self.X[train], Y=self.Y[train], machine=machine, search=self.search.search)
        rehearsal = part.descend(kernel, number)
        best = min(
            improvements(rehearsal.fine),
            key=lambda step: held_out_cost(rehearsal.problem, step.theta, self.X[test], self.Y[test]),
        )
        outcome = replace(rehearsal.outcome, best=best, optima=(best,))
        *_, whole = stages(kernel, self.X, self.gram, self.n_components, np.random.default_rng(self.seed))
        problem = Problem(kernel, self.machine, self.criterion, whole, self.Y, self.tune_machine)
        return replace(self.finish(problem, outcome), fine=rehearsal.fine)

    def descend(self, kernel, number):
        """Search on each representation in turn until the approximation no longer matters, then fit."""
        deadline = self.deadline()
        scale, chapter = self.scale(kernel), self.chapter(kernel, number)
        outcome, fine, starts, gap = None, (), self.starts(kernel, scale), np.inf
        rng = np.random.default_rng(self.seed)
        for stage, representation in enumerate(stages(kernel, self.X, self.gram, self.n_components, rng)):
            if gap <= ENOUGH and isinstance(representation, Dense):
                break
            problem = Problem(kernel, self.rough, self.criterion, representation, self.Y, self.tune_machine)
            after = self.walk_on(problem, scale, starts, outcome, deadline, f"{chapter}.{stage}")
            fine = after.trace or fine
            outcome = self.join(outcome, after)
            solution = problem.solve(outcome.best.theta)[2]
            gap = representation_gap(problem.at(outcome.best.theta)[0], self.X, solution)
            if gap <= NEGLIGIBLE or outcome.stop in CUT_SHORT:
                break
            starts = [step.theta for step in outcome.optima]
        self.tell(outcome.stop, len(outcome.trace))
        self.tell_edge(outcome, self.box(kernel, scale))
        if self.ends_finer(gap):
            problem = replace(problem, representation=last_representation(self.X, rng))
        chosen = self.finish(replace(problem, machine=self.machine), outcome, solution.start)
        return replace(chosen, fine=fine)

    def deadline(self):
        """When to end, by the clock of ``time.perf_counter``; ``None`` is never."""
        return None if self.time_budget is None else time.perf_counter() + self.time_budget

    def ends_finer(self, gap):
        """Whether the last fit is on a finer representation than the search needed."""
        free = self.finer and self.gram == "auto" and self.n_components is None
        return free and gap > 0 and (self.X.shape[0] <= FINISH or gap > NEGLIGIBLE)

    def finish(self, problem, outcome, start=None):
        """Fit at the best point with all digits."""
        kernel, machine, solution = problem.solve(outcome.best.theta, start)
        return Selection(
            kernel=kernel,
            machine=machine,
            criterion=self.criterion,
            representation=problem.representation,
            solution=solution,
            reading=self.criterion(solution),
            outcome=outcome,
            gap=representation_gap(kernel, self.X, solution),
            problem=problem,
        )

    def chapter(self, kernel, number):
        """Name of this search in a checkpoint file: what it depends on, in short."""
        if self.checkpoint is None:
            return str(number)
        parts = replace(
            self, max_evaluations=None, time_budget=None, n_jobs=None, watch=None, checkpoint=None
        )
        return f"{joblib_hash((kernel, parts))}.{number}"

    @property
    def rough(self):
        """The machine at the accuracy a search needs: none at all for a criterion that does not look at it."""
        return Untrained() if self.criterion.blind else getattr(self.machine, "rough", self.machine)

    def scale(self, kernel):
        """Mean diagonal of the kernel matrix: the regularisation is searched in its units."""
        mean = float(np.mean(diagonal(kernel, self.X)))
        return mean if np.isfinite(mean) and mean > 0 else 1.0

    def box(self, kernel, scale):
        """Bounds: the kernel's own, and those given for the regularisation, or a wide range."""
        bounds = kernel.bounds.reshape(-1, 2)
        if self.tune_machine:
            usual = np.sort(self.of_strength(scale, np.log(REGULARISATION)))
            bounds = np.vstack(
                [bounds, usual if self.regularisation is None else np.log(self.regularisation)]
            )
        return Box(bounds[:, 0], bounds[:, 1])

    def of_strength(self, scale, strength):
        """The machine's theta for a given strength of fit (log C, or minus log alpha, in units of ``scale``)."""
        return self.machine.sign * (np.asarray(strength) - np.log(scale))

    def starts(self, kernel, scale):
        """A coarse look at widths and regularisation around the kernel as given; more if more descents are asked."""
        starts = self.coarse(kernel, scale)
        wanted = getattr(self.search, "n_starts", 1) - len(starts)
        box = self.box(kernel, scale)
        return starts + sobol_starts(box, wanted) if box.size else starts

    def coarse(self, kernel, scale):
        """Widths and regularisation around the kernel as given."""
        wide = _length_scales(kernel)
        widths = [kernel.theta + width * wide for width in (WIDTHS if len(kernel.theta) else (0.0,))]
        strengths = self.of_strength(scale, STRENGTHS).reshape(-1, 1) if self.tune_machine else [np.zeros(0)]
        return [np.r_[width, strength] for width in widths for strength in strengths]

    def walk_on(self, problem, scale, starts, before, *rest):
        """Walk; an interrupt before the first look on a finer representation keeps what the coarser one gave."""
        try:
            return self.walk(problem, scale, starts, before, *rest)
        except KeyboardInterrupt:
            if before is None:
                raise
            return replace(before, trace=(), stop=Stop.INTERRUPTED)

    def walk(self, problem, scale, starts, before, deadline, chapter):
        """Run the search with what is left of the budget."""
        used = 0 if before is None else len(before.trace)
        if self.max_evaluations is not None and used >= self.max_evaluations:
            return replace(before, trace=(), stop=Stop.BUDGET)
        outcome = self.gait(problem, before)(
            problem,
            self.box(problem.kernel, scale),
            starts,
            max_evaluations=None if self.max_evaluations is None else self.max_evaluations - used,
            time_budget=None if deadline is None else deadline - time.perf_counter(),
            watch=self.watch,
            checkpoint=self.checkpoint,
            chapter=chapter,
            n_jobs=self.n_jobs,
        )
        if not np.isfinite(outcome.best.value):
            note = outcome.best.note
            raise Undefined(f"{self.criterion.name} is defined nowhere it was looked for: {note}")
        return outcome

    def gait(self, problem, before):
        """The search as it is, rough on the first landmarks, polishing after them."""
        if before is not None:
            return self.search.polish
        return self.search.rough if isinstance(problem.representation, Nystrom) else self.search

    def join(self, before, after):
        """Return the outcome of both; the best and the optima are those of the finer representation."""
        return after if before is None else replace(after, trace=before.trace + after.trace)

    def tell(self, stop, count=0):
        """Warn about a search that was cut short."""
        if stop in CUT_SHORT:
            after = f" after {count} evaluations" if count else ""
            warnings.warn(SearchWarning(f"{self.search.name} ended{after}. {stop.value}"), stacklevel=2)

    def tell_edge(self, outcome, box):
        """Warn where a criterion that must not be minimised over everything ends at a bound of the regularisation."""
        if self.criterion.tunes_kernel or not (self.criterion.runs_away and self.tune_machine):
            return
        last, low, high = outcome.best.theta[-1], box.low[-1], box.high[-1]
        if min(last - low, high - last) < 1e-3 * (high - low):
            message = f"{self.criterion.name} is lowest at the edge of the range of the regularisation: "
            warnings.warn(CriterionWarning(message + f"{self.criterion.why_not}."), stacklevel=2)


def _length_scales(kernel):
    """Return 1 where theta is a length scale and 0 elsewhere; without any, 1 everywhere."""
    free = [h for h in kernel.hyperparameters if not h.fixed]
    wide = np.array([float("length_scale" in h.name) for h in free for _ in range(h.n_elements)])
    return wide if np.any(wide) else np.ones(len(kernel.theta))


def representation_gap(kernel, X, solution):
    """Eq. (1) over n; zero for a whole matrix."""
    if not hasattr(solution.gram, "F"):
        return 0.0
    lost = np.maximum(diagonal(kernel, X) - solution.gram.diag(), 0)
    return float(np.mean(solution.precision * lost))
