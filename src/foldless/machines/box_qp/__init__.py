"""The quadratic program of a support vector machine: problem, solver, initial point."""
