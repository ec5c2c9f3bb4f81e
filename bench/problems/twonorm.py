from bench.pool import generated, stored
from foldless.datasets import make_twonorm

NAME = "twonorm"


def draw(n, split, data):
    if data is None:
        return generated(make_twonorm, n, split)
    return stored("raetsch_twonorm", n, split, data)
