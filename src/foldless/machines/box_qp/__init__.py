"""The quadratic programme of a support vector machine: problem, initial point, active sets."""
