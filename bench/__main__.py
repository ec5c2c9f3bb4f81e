"""Measure a table, list them, or write them into README and docs.

    python -m bench --list
    python -m bench TABLE --data DIR [--record FILE] [--splits 80:90] [--sets NAME ...] [--sizes N ...]
                          [--contenders NAME ...] [--jobs 2]
    python -m bench --write-docs | --check-docs

Records are appended to ``bench/records/TABLE.jsonl`` unless ``--record`` names another file; what stands there is not
measured again, so that an interrupted run goes on.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import documents, storage
from bench.contenders import Contender
from bench.run import run
from bench.tables import TABLES
from bench.tables.base import Table


def splits(text: str) -> range:
    """Return the range of ``a:b``, without b as in Python."""
    try:
        first, last = map(int, text.split(":"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a:b such as 80:90, got {text!r}") from None
    if not 0 <= first < last:
        raise argparse.ArgumentTypeError(f"expected a:b with 0 <= a < b, got {text!r}")
    return range(first, last)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    line = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    line.add_argument("table", nargs="?", choices=list(TABLES), metavar="TABLE", help="see --list")
    line.add_argument("--data", type=Path, metavar="DIR", help="directory with the sets as .npz files")
    line.add_argument("--record", type=Path, metavar="FILE", help="where the measurements go")
    line.add_argument("--splits", type=splits, metavar="A:B", help="from A to before B")
    line.add_argument("--sets", nargs="+", metavar="NAME")
    line.add_argument("--sizes", nargs="+", type=int, metavar="N", help="training rows")
    line.add_argument("--contenders", nargs="+", metavar="NAME")
    line.add_argument("--jobs", type=int, default=2, help="workers or threads for every contender (2)")
    line.add_argument("--list", action="store_true", help="name the tables, their sets and contenders")
    line.add_argument("--write-docs", action="store_true", help="write the tables into README and docs")
    line.add_argument(
        "--check-docs", action="store_true", help="fail if a document is not what the records give"
    )
    return line


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 if all went well."""
    line = parser()
    asked = line.parse_args(arguments)
    if asked.list:
        print("\n\n".join(map(described, TABLES.values())))
        return 0
    if asked.write_docs:
        print("\n".join(f"wrote {path}" for path in documents.write()) or "nothing to write")
        return 0
    if asked.check_docs:
        found = list(documents.stale())
        print("\n".join(f"stale: {path}; run python -m bench --write-docs" for path in found) or "up to date")
        return 1 if found else 0
    if asked.table is None:
        line.error("name a TABLE, or use --list, --write-docs or --check-docs")
    try:
        return measure(TABLES[asked.table], asked)
    except ValueError as error:
        line.error(str(error))


def described(table: Table) -> str:
    """Return what a table is about, in a few lines."""
    sizes: dict[str, list[str]] = {}
    for name, rows in table.cases:
        sizes.setdefault(name, []).append("usual" if rows is None else str(rows))
    cases = ", ".join(f"{name} ({', '.join(rows)})" for name, rows in sizes.items())
    contenders = "; ".join(contender.name for contender in table.contenders)
    first, last = table.splits[0], table.splits[-1]
    return (
        f"{table.name}: {table.title}\n  {table.command}\n  sets (training rows): {cases}\n"
        f"  splits: {first} to {last}\n  contenders: {contenders}"
    )


def measure(table: Table, asked: argparse.Namespace) -> int:
    """Run a table as asked and print it; return 1 if a fit failed."""
    path = asked.record or storage.path_of(table.name)
    contenders = chosen(table, asked.contenders)
    cases = table.plan(asked.data, asked.sets, asked.sizes, asked.splits)
    failures = run(cases, contenders, path, table.conditions(asked.jobs))
    found = storage.read(path)
    for text in table.blocks(table.results(found)).values() if found else ():
        print(text + "\n")
    return 1 if failures else 0


def chosen(table: Table, names: Sequence[str] | None) -> list[Contender]:
    """Return the contenders of a table that were asked for and are installed; the others are named."""
    known = [contender.name for contender in table.contenders]
    for name in names or ():
        if name not in known:
            raise ValueError(f"{table.name} has no contender {name!r}; it has {', '.join(known)}.")
    wanted = [contender for contender in table.contenders if names is None or contender.name in names]
    for contender in wanted:
        if contender.missing():
            print(f"{contender.name} is left out: {contender.missing()}", file=sys.stderr)
    return [contender for contender in wanted if contender.missing() is None]


if __name__ == "__main__":
    sys.exit(main())
