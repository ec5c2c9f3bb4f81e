from bench.pool import generated, stored
from foldless.datasets import make_ringnorm

NAME = "ringnorm"


def draw(n, split, data):
    if data is None:
        return generated(make_ringnorm, n, split)
    return stored("raetsch_ringnorm", n, split, data)
