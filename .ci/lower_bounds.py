"""Print the lower bounds of pyproject.toml as pip constraints: the oldest versions that foldless promises to work with."""

import re
import tomllib
from itertools import chain
from pathlib import Path

tables = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
project = tables["project"]
groups = (*project["optional-dependencies"].values(), *tables["dependency-groups"].values())
for requirement in chain(project["dependencies"], *groups):
    # A group that includes another one names it in a table, not in a text.
    bound = re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement) if isinstance(requirement, str) else None
    if bound:
        print("==".join(bound.groups()))
