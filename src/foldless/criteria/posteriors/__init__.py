"""Posteriors of support vector machines: expectation propagation and samples."""
