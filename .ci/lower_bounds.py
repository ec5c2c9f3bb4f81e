"""Print the lower bounds of pyproject.toml as pip constraints: the oldest versions that foldless promises to work with."""

import re
import tomllib
from itertools import chain
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
for requirement in chain(project["dependencies"], *project["optional-dependencies"].values()):
    if bound := re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement):
        print("==".join(bound.groups()))
