r"""Problems whose distribution is known: the artificial sets of the papers, drawn in any size.

Every generator takes ``n_samples`` and ``random_state`` (an int, a ``numpy.random.RandomState`` or None, as
in scikit-learn) and returns ``X`` of shape (n_samples, n_features) and ``y``. Classes are drawn with their
prior probabilities, so their counts vary; labels count from 0 in the order of the definition.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from foldless.core.contracts import Matrix, Vector

__all__ = [
    "make_banana",
    "make_ringnorm",
    "make_ripley",
    "make_sinc",
    "make_twonorm",
    "make_waveform",
    "sinc_target",
]

Seed: TypeAlias = int | np.random.RandomState | None
Labels: TypeAlias = NDArray[Any]

# Class, component, coordinate; and the common standard deviation.
RIPLEY_CENTRES = np.array([[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]])
RIPLEY_SCALE = np.sqrt(0.03)

# The three triangles of the waveforms, at the points 1, ..., 21, and the two that each class mixes.
WAVES = np.maximum(6 - np.abs(np.arange(1, 22) - np.array([[11], [15], [7]])), 0.0)
WAVE_PAIRS = np.array([[0, 1], [0, 2], [1, 2]])


def make_ripley(n_samples: int = 250, *, random_state: Seed = None) -> tuple[Matrix, Labels]:
    r"""Two classes in the plane, each an equal mixture of two normals; the Bayes error is 8.9 %.

    .. math:: x \mid y \sim \tfrac12 \sum_{k=1}^{2} N(\mu_{yk},\ 0.03\, I)

    with :math:`\mu_0 = (-0.7, 0.3), (0.3, 0.3)` and :math:`\mu_1 = (-0.3, 0.7), (0.4, 0.7)`. The published
    training set has 250 points; of the 1000 of the test set this best rule gets 8.0 % wrong, which is the
    "about 8 %" of the literature.

    Parameters
    ----------
    n_samples : int, default=250
    random_state : int or RandomState, default=None

    Returns
    -------
    X : array of shape (n_samples, 2)
    y : array of shape (n_samples,)

    References
    ----------
    .. [1] Ripley (1996), *Pattern Recognition and Neural Networks*, section 1.2.
    """
    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_samples)
    centres = RIPLEY_CENTRES[y, rng.randint(2, size=n_samples)]
    return centres + RIPLEY_SCALE * rng.normal(size=(n_samples, 2)), y


def make_twonorm(
    n_samples: int = 400, *, n_features: int = 20, random_state: Seed = None
) -> tuple[Matrix, Labels]:
    r"""Two normals of unit covariance with opposite means; the best boundary is a plane.

    .. math:: x \mid y \sim N(\pm(a, \dots, a),\ I), \qquad a = 2/\sqrt{d},

    plus for class 0, minus for class 1. The Bayes error is :math:`\Phi(-2) = 2.3\,\%` in every dimension d.

    Parameters
    ----------
    n_samples : int, default=400
    n_features : int, default=20
    random_state : int or RandomState, default=None

    Returns
    -------
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,)

    References
    ----------
    .. [1] Breiman (1996), *Bias, variance, and arcing classifiers*, technical report 460, University of
       California, Berkeley.
    """
    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_samples)
    mean = (1 - 2 * y) * 2 / np.sqrt(n_features)
    return mean[:, None] + rng.normal(size=(n_samples, n_features)), y


def make_ringnorm(
    n_samples: int = 400, *, n_features: int = 20, random_state: Seed = None
) -> tuple[Matrix, Labels]:
    r"""A wide normal around a narrow one; the best boundary is a sphere.

    .. math:: x \mid 0 \sim N(0,\ 4 I), \qquad x \mid 1 \sim N((a, \dots, a),\ I), \qquad a = 2/\sqrt{d}.

    The Bayes error for d = 20 is 1.24 %; Breiman gives 1.3 %. Some libraries use :math:`a = 1/\sqrt{d}`,
    which gives 1.50 %; the published sample of 7400 points agrees with :math:`2/\sqrt{d}`.

    Parameters
    ----------
    n_samples : int, default=400
    n_features : int, default=20
    random_state : int or RandomState, default=None

    Returns
    -------
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,)

    References
    ----------
    .. [1] Breiman (1996), *Bias, variance, and arcing classifiers*, technical report 460, University of
       California, Berkeley.
    """
    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_samples)
    mean, scale = y * 2 / np.sqrt(n_features), 2 - y
    return mean[:, None] + scale[:, None] * rng.normal(size=(n_samples, n_features)), y


def make_waveform(n_samples: int = 400, *, random_state: Seed = None) -> tuple[Matrix, Labels]:
    r"""Three classes of noisy waveforms at 21 points; the Bayes error is about 14 %.

    .. math:: x_i = u\, h_p(i) + (1 - u)\, h_q(i) + \varepsilon_i, \qquad i = 1, \dots, 21,

    with u uniform on [0, 1], :math:`\varepsilon_i` standard normal, and the triangles
    :math:`h_1(i) = \max(6 - |i - 11|, 0)`, :math:`h_2(i) = h_1(i - 4)`, :math:`h_3(i) = h_1(i + 4)`. Classes
    0, 1, 2 mix the pairs (1, 2), (1, 3), (2, 3), each with probability 1/3. The two-class version of the
    benchmark suites is ``y == 0`` against the rest.

    Parameters
    ----------
    n_samples : int, default=400
    random_state : int or RandomState, default=None

    Returns
    -------
    X : array of shape (n_samples, 21)
    y : array of shape (n_samples,)

    References
    ----------
    .. [1] Breiman, Friedman, Olshen and Stone (1984), *Classification and Regression Trees*, section 2.6.2.
    """
    rng = check_random_state(random_state)
    y = rng.randint(3, size=n_samples)
    u = rng.uniform(size=(n_samples, 1))
    first, second = WAVES[WAVE_PAIRS[y, 0]], WAVES[WAVE_PAIRS[y, 1]]
    return u * first + (1 - u) * second + rng.normal(size=(n_samples, 21)), y


def make_banana(
    n_samples: int = 400, *, noise: float = 0.3, random_state: Seed = None
) -> tuple[Matrix, Labels]:
    r"""Two interlocking crescents in the plane: our own construction, in the manner of the banana benchmark.

    .. math::
        y = 0:\ x = (\cos t - \tfrac12,\ \sin t - \tfrac14) + \sigma\varepsilon, \qquad
        y = 1:\ x = (\tfrac12 - \cos t,\ \tfrac14 - \sin t) + \sigma\varepsilon,

    with t uniform on :math:`[0, \pi]` and :math:`\varepsilon \sim N(0, I)`. Each class is the other turned by
    half a revolution about the origin. ``noise`` is :math:`\sigma`.

    Parameters
    ----------
    n_samples : int, default=400
    noise : float, default=0.3
    random_state : int or RandomState, default=None

    Returns
    -------
    X : array of shape (n_samples, 2)
    y : array of shape (n_samples,)
    """
    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_samples)
    t = rng.uniform(0, np.pi, size=n_samples)
    crescent = np.column_stack([np.cos(t) - 0.5, np.sin(t) - 0.25])
    return (1 - 2 * y)[:, None] * crescent + noise * rng.normal(size=(n_samples, 2)), y


def make_sinc(
    n_samples: int = 100,
    *,
    noise_variance: float = 0.01,
    target: Callable[[Vector], Vector] = np.sinc,
    random_state: Seed = None,
) -> tuple[Matrix, Vector]:
    r"""Regression on the line: a sinc with normal noise, at uniform points.

    .. math:: y = f(x) + \varepsilon, \qquad x \sim U(-\pi, \pi), \qquad \varepsilon \sim N(0, \sigma^2)

    with :math:`f(x) = \sin(\pi x) / (\pi x)`. The paper has n = 50 or 100 and :math:`\sigma^2` = 0.01 or
    0.09, and its f is the sinc smoothed by kernel ridge regression: ``target=sinc_target``.

    Parameters
    ----------
    n_samples : int, default=100
    noise_variance : float, default=0.01
    target : callable, optional
        The function f; by default the sinc.
    random_state : int or RandomState, default=None

    Returns
    -------
    X : array of shape (n_samples, 1)
    y : array of shape (n_samples,)

    References
    ----------
    .. [1] Sugiyama and Müller (2002), *The subspace information criterion for infinite dimensional hypothesis
       spaces*, JMLR 3, section 6.1.1.
    """
    rng = check_random_state(random_state)
    x = rng.uniform(-np.pi, np.pi, size=n_samples)
    return x[:, None], target(x) + np.sqrt(noise_variance) * rng.normal(size=n_samples)


def sinc_target(x: ArrayLike) -> Vector:
    r"""Evaluate the learning target of [1]_: a sinc drawn into the Gaussian space by kernel ridge regression.

    .. math:: f(x) = \sum_m \alpha_m e^{-(x - s_m)^2 / 2}, \qquad \alpha = (K^2 + 0.1\, I)^{-1} K\, t,

    with 100 equally spaced :math:`s_m` in :math:`[-\pi, \pi]` and :math:`t_m = \sin(\pi s_m) / (\pi s_m)`.

    Parameters
    ----------
    x : array of shape (n,)

    Returns
    -------
    values : array of shape (n,)

    References
    ----------
    .. [1] Sugiyama and Müller (2002), *The subspace information criterion for infinite dimensional hypothesis
       spaces*, JMLR 3, section 6.1.1; ridge regression with T = I is their eq. (7).
    """
    s = np.linspace(-np.pi, np.pi, 100)
    K = _gaussian(s, s)
    alpha = np.linalg.solve(K @ K + 0.1 * np.eye(s.size), K @ np.sinc(s))
    return _gaussian(x, s) @ alpha


def _gaussian(x: ArrayLike, s: Vector) -> Matrix:
    return np.exp(-0.5 * np.subtract.outer(np.asarray(x, dtype=float), s) ** 2)
