from bench.pool import stored

NAME = "diabetes"


def draw(n, split, data):
    return stored("raetsch_diabetes", n, split, data)
