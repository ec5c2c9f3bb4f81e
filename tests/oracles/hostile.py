"""Files that try to break their reader: names that are code, and mutations of whole files."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from foldless.cli import Experiment, read_table, run_experiment

NAMES = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "{{ 7 * 7 }} {% raw %}",
    "%{x} <b>bold</b> <a href='javascript:alert(4)'>link</a> $x$ &lt;",
)
LABELS = ("<script>alert(5)</script>", "<b>&amp;</b>")


def hostile_experiment(folder: Path, kernel: str = "rbf-ard") -> Experiment:
    """Write a CSV with these names, read it as a user's file, and tune."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, len(NAMES)))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=60) > 0, *LABELS)
    quoted = [f'"{name.replace(chr(34), 2 * chr(34))}"' for name in (*NAMES, "<i>target</i>")]
    rows = [",".join([*map(str, row), f'"{label}"']) for row, label in zip(X, y)]
    path = folder / "<img src=x onerror=alert(6)>.csv"
    path.write_text("\n".join([",".join(quoted), *rows]), encoding="utf-8")
    table = read_table(path, "<i>target</i>")
    command = f"foldless tune '{path.name}' --target '</code><script>alert(7)'"
    return run_experiment(
        table, holdout=0.2, source=path.name, command=command, kernel=kernel, search="lbfgs", time_budget=3.0
    )


# What a mutation puts into a file: quotes and delimiters, numbers at the edge, blanks, broken text, markers of formats.
TOKENS = (
    b"", b",", b",,", b";", b"\t", b"|", b":", b" ", b" " * 3000, b"'", b'"', b'""', b"\\", b"\\'", b"{", b"}", b"?",
    b"\n", b"\r", b"\r\n", b"\n\n", b"%", b"#", b"@data\n", b"@attribute x {a,b}\n", b"@attribute", b"qid:3", b"-",
    b"nan", b"inf", b"-inf", b"1e999", b"-1e-999", b"1_0", b"0x1f", b"9" * 400, b"99999999:1", b"-1:1", b"0:1", b"1e400:1",
    b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", "١".encode(), "\u2028".encode(), "\ufeff".encode(), b"\x1b[31m",
    b"PK\x03\x04", b"PAR1", b"\x1f\x8b", b"[" * 3000,
)  # fmt: skip


def mutations(raw: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield seeded mutations of a file: flipped bits, cuts, repeated and moved pieces, tokens put in or over others."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        changed = bytearray(raw)
        for _ in range(int(rng.integers(1, 4))):
            _mutate(changed, rng)
        yield bytes(changed)


def _mutate(raw: bytearray, rng: np.random.Generator) -> None:
    i, j = sorted(int(k) for k in rng.integers(0, len(raw) + 1, size=2))
    piece = raw[i : min(j, i + 200)]
    token = TOKENS[int(rng.integers(len(TOKENS)))]
    kind = rng.choice(["flip", "cut", "delete", "repeat", "insert", "overwrite", "noise"])
    if kind == "flip" and len(raw) > i:
        raw[i] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        del raw[j:]
    elif kind == "delete":
        del raw[i : i + len(piece)]
    elif kind == "repeat":
        raw[i:i] = piece * int(rng.integers(1, 5))
    elif kind == "insert":
        raw[i:i] = token
    elif kind == "overwrite":
        raw[i : i + max(len(token), 1)] = token
    elif kind == "noise":
        raw[i:i] = rng.bytes(int(rng.integers(1, 30)))
