"""Linear smoothers: eigenbasis, solution, hat matrix, Gaussian posterior."""
