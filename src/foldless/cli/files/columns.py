"""Which columns of a table can be used, and as what: a verdict on each, and all complaints at once."""

from collections.abc import Iterable, Mapping, Sequence

from foldless.cli.files.encoding import DROP_ADVICE, Code, ColumnError, UnusableColumn, learn_code
from foldless.cli.files.sheet import Column, Sheet, count, show
from foldless.core.errors import DataError

# Columns that the message about several of them names.
NAMED_MAX_COLUMNS = 5


class UnusableColumns(DataError):
    """Several columns cannot be used as they are.

    ``verdicts`` has a line for every column of the file, and ``summary`` is the message for those who have read them.
    """

    def __init__(self, path: str, errors: Mapping[str, ColumnError], verdicts: Mapping[str, str]) -> None:
        self.verdicts = dict(verdicts)
        names = list(errors)
        named = ", ".join(map(show, names[:NAMED_MAX_COLUMNS]))
        more = f" and {len(names) - NAMED_MAX_COLUMNS} more" if len(names) > NAMED_MAX_COLUMNS else ""
        remedies = " ".join(dict.fromkeys(error.remedy for error in errors.values()))
        attention = f"{path}: {len(names)} columns need attention: {named}{more}."
        self.summary = f"{attention} {remedies}"
        first = str(errors[names[0]]).removeprefix(f"{path}: ")
        super().__init__(f"{attention} The first one: {first} {remedies}")


def learn_codes(
    sheet: Sheet,
    columns: Sequence[Column],
    impute: bool,
    drop_unusable: bool,
    target_errors: Mapping[str, ColumnError] | None = None,
) -> tuple[list[Code], dict[str, str]]:
    """Return how to encode the columns that can be used, and what is wrong with those to leave out.

    ``target_errors`` says what is wrong with the target, by its name, so that it is told together with the other complaints.

    Raises
    ------
    DataError
        If there is something wrong with a column and it must not be left out: all complaints together.
    """
    codes: list[Code] = []
    errors: dict[str, ColumnError] = {**(target_errors or {})}
    for column in columns:
        try:
            codes.append(learn_code(sheet, column, impute))
        except ColumnError as error:
            errors[column.name] = error
    complaints = {name: _without_path(sheet, error) for name, error in errors.items()}
    blocking = [
        name for name, error in errors.items() if not (drop_unusable and isinstance(error, UnusableColumn))
    ]
    if len(blocking) > 1:
        found = verdicts(codes, complaints)
        in_order = {name: found[name] for name in sheet.names if name in found}
        raise UnusableColumns(sheet.path, {name: errors[name] for name in blocking}, in_order)
    if blocking:
        raise errors[blocking[0]]
    return codes, complaints


def _without_path(sheet: Sheet, error: DataError) -> str:
    return str(error).removeprefix(f"{sheet.path}: ")


def reason(complaint: str) -> str:
    """Return a complaint about a column that was left out, without the advice to leave it out."""
    return complaint.partition(DROP_ADVICE)[0]


def verdicts(
    codes: Iterable[Code], unusable: Mapping[str, str], drop: Iterable[str] = (), id_column: str | None = None
) -> dict[str, str]:
    """Return in words, by column, what became of it."""
    found = {code.name: _use(code) for code in codes}
    found |= {name: _complaint(name, complaint) for name, complaint in unusable.items()}
    found |= dict.fromkeys(drop, "left out on request")
    return found | ({} if id_column is None else {id_column: "names the rows"})


def _complaint(name: str, complaint: str) -> str:
    """Return what is wrong with a column for a line that begins with its name."""
    ours = f"column {show(name)} "
    return f"not used: it {complaint.removeprefix(ours)}" if complaint.startswith(ours) else complaint


def _use(code: Code) -> str:
    if not code.value_names:
        return f"left out: always {show(code.levels[0])}"
    if code.kind == "category":
        return f"category of {count(len(code.levels), 'level')}"
    unit = code.form.partition(" ")[2]
    if code.kind == "number":
        return f"number, in {unit}" if unit else "number"
    return f"date, as {', '.join(code.parts)}"
