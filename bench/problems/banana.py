from bench.pool import generated, stored
from foldless.datasets import make_banana

NAME = "banana"


def draw(n, split, data):
    if data is None:
        return generated(make_banana, n, split)
    return stored("raetsch_banana", n, split, data)
