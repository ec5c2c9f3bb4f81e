r"""Has a Markov chain converged, and how many independent draws is it worth? Arrays are (draws, chains).

References
----------
.. [1] Gelman et al. (2013), *Bayesian data analysis*, third edition, section 11.4 (split R-hat) and 11.5 (effective draws).
.. [2] Vehtari et al. (2021), *Rank-normalization, folding, and localization: an improved R-hat*, (9)-(13).
"""

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from foldless.core.contracts import Matrix


def split(x: Matrix) -> Matrix:
    """Return every chain cut in two: (draws // 2, 2 * chains)."""
    half = len(x) // 2
    return np.concatenate([x[:half], x[len(x) - half :]], axis=1)


def rhat(x: Matrix) -> float:
    r"""Return split R-hat, :math:`\sqrt{(\frac{n-1}{n} W + \frac1n B) / W}` over half chains; 1 if they agree."""
    if x.shape[1] < 2 or len(x) < 4:
        raise ValueError(f"R-hat needs at least 4 draws of 2 chains, got {x.shape[0]} of {x.shape[1]}.")
    x = split(x)
    within, between, n = np.mean(np.var(x, axis=0, ddof=1)), np.var(np.mean(x, axis=0), ddof=1), len(x)
    if within == 0:
        return 1.0 if between == 0 else np.inf
    return float(np.sqrt(((n - 1) / n * within + between) / within))


def effective_draws(x: Matrix) -> float:
    r"""Return the effective number of draws of the mean, from split chains.

    It is :math:`M N / (1 + 2\sum_t \rho_t)` with :math:`\rho_t = 1 - (W - \bar c_t) / \hat\sigma^2`, :math:`\bar c_t` the mean
    autocovariance and :math:`\hat\sigma^2` the pooled variance; the sum runs over Geyer's initial monotone pairs.
    """
    x = split(x)
    n, m = x.shape
    covariance = np.mean(_autocovariance(x), axis=1)
    within = covariance[0] * n / (n - 1)
    pooled = (n - 1) / n * within + (np.var(np.mean(x, axis=0), ddof=1) if m > 1 else 0.0)
    if pooled == 0:
        return float(n * m)
    rho = 1 - (within - covariance * n / (n - 1)) / pooled
    rho[0] = 1.0
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = pairs > 0
    length = len(pairs) if positive.all() else int(np.argmin(positive))
    tau = -1 + 2 * np.sum(np.minimum.accumulate(pairs[:length]))
    return float(n * m / max(tau, 1 / np.log10(n * m)))


def _autocovariance(x: Matrix) -> Matrix:
    """Return biased autocovariances at every lag, by the fast Fourier transform."""
    n = len(x)
    size = next_fast_len(2 * n)
    f = rfft(x - x.mean(axis=0), size, axis=0)
    return irfft(np.abs(f) ** 2, size, axis=0)[:n] / n
