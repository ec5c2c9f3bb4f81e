"""The eight points of the specification, section 12."""

import numpy as np

x = np.array([0, 0.5, 1.1, 1.4, 2.0, 2.7, 3.1, 3.6])
labels = np.array([1.0, 1, 1, -1, 1, -1, -1, 1])
K = np.exp(-((x[:, None] - x) ** 2) / (2 * 0.7**2))
