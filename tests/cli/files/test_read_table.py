"""Files on disk against the arrays they must become, and broken files against the one line they must give."""

import contextlib
import csv
import gzip
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foldless.cli.files.formats.delimited import read_delimited
from foldless.cli.files.memory import as_text, memory_at_most
from foldless.cli.files.read_table import Encoder, read_new, read_table
from foldless.core.errors import DataError

PLAIN = "a,b,y\n1,0.5,u\n2,1.5,v\n3,-2e1,u\n4,.25,v\n"
X_PLAIN = np.array([[1, 0.5], [2, 1.5], [3, -20], [4, 0.25]])


def new_rows(path, encoder):
    """Return the rows to predict, which come in one part."""
    [table] = read_new(path, encoder)
    return table


@pytest.fixture
def put(tmp_path):
    """Write a file and return its path."""

    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refusal(path, *args, read=read_table, **options):
    """The message of the DataError, which must be one line that opens with the file."""
    with pytest.raises(DataError) as caught:
        read(path, *args, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith((f"{path}: ", f"{path}{os.sep}"))
    assert caught.value.__cause__ is None
    return message.removeprefix(f"{path}: ")


# Layouts of text


LAYOUTS = {
    "commas": PLAIN,
    "tabs": PLAIN.replace(",", "\t"),
    "semicolons": PLAIN.replace(",", ";"),
    "bars": PLAIN.replace(",", "|"),
    "runs of blanks": PLAIN.replace(",", "   "),
    "blanks around commas": PLAIN.replace(",", " , "),
    "windows line ends": PLAIN.replace("\n", "\r\n"),
    "old mac line ends": PLAIN.replace("\n", "\r"),
    "empty lines at the end": PLAIN + "\n\n,,\n",
    "empty lines at the start": "\n\n" + PLAIN,
    "no line end at the end": PLAIN.rstrip("\n"),
    "byte order mark": PLAIN.encode("utf-8-sig"),
    "gzip": gzip.compress(PLAIN.encode(), mtime=0),
    "quotes": PLAIN.replace("a,b,y", '"a","b","y"').replace("u", '"u"'),
    "decimal commas": "a;b;y\n1;0,5;u\n2;1,5;v\n3;-2,0e1;u\n4;0,25;v\n",
}


@pytest.mark.parametrize("content", LAYOUTS.values(), ids=LAYOUTS)
def test_the_layout_of_a_text_file_does_not_matter(put, content):
    table = read_table(put(content), "y")
    np.testing.assert_array_equal(table.X, X_PLAIN)
    assert table.y.tolist() == ["u", "v", "u", "v"]
    assert table.feature_names == ["a", "b"]
    assert (table.task, table.target_name, table.n_rows) == ("classification", "y", 4)


def test_quoted_fields_keep_delimiters_quotes_and_line_ends(put):
    path = put('"a, b","say ""x""",y\n"p,q",1,0\n"r\ns",2,1\n"p,q",3,0\n"r\ns",4,1\n')
    table = read_table(path, "y")
    assert table.feature_names == ["a, b=r\ns", 'say "x"']
    np.testing.assert_array_equal(table.X, [[0, 1], [1, 2], [0, 3], [1, 4]])


def test_a_file_without_header_numbers_its_columns_and_says_so(put):
    table = read_table(put(PLAIN.split("\n", 1)[1]), "x3")
    np.testing.assert_array_equal(table.X, X_PLAIN)
    assert table.feature_names == ["x1", "x2"]
    assert any("no header" in note for note in table.notes)


def test_a_header_with_numbers_is_recognised_by_the_names_that_are_asked_for(put):
    lines = ["0,1,y", *(f"{i},{i * i},{i % 2}" for i in range(8))]
    table = read_table(put("\n".join(lines)), "y")
    assert table.feature_names == ["0", "1"]
    np.testing.assert_array_equal(table.X[:, 1], np.arange(8) ** 2)
    new = new_rows(put("1,0\n4,2\n9,3\n", "new.csv"), table.encoder)
    np.testing.assert_array_equal(new.X, [[2, 4], [3, 9]])
    assert "line 3, column '1'" in refusal(put("0,1\n1,2\n3,b\n", "b.csv"), table.encoder, read=new_rows)
    assert len(read_table(put("\n".join(lines[1:])), "x3").values) == 8


def test_header_and_delimiter_can_be_forced(put):
    table = read_table(put("2019:2020\n1:5,5\n2:6,5\n3:7,5\n4:8,5\n"), "2020", delimiter=":", header=True)
    assert table.feature_names == ["2019"]
    np.testing.assert_array_equal(table.y, [5.5, 6.5, 7.5, 8.5])


def test_a_column_that_counts_rows_is_pointed_out(put):
    rows = "".join(f"{i},{i * i},{i % 2}\n" for i in range(30))
    table = read_table(put(",a,y\n" + rows), "y")
    assert table.feature_names == ["column 1", "a"]
    assert [note for note in table.notes if "'column 1' only counts the rows" in note]
    assert not [note for note in table.notes if "'a'" in note]


# Kinds of columns


def test_two_levels_become_one_column_and_three_become_three(put):
    rows = [("m", "red"), ("f", "blue"), ("m", "green"), ("f", "red"), ("m", "blue"), ("m", "green")]
    text = "sex,colour,y\n" + "".join(f"{s},{c},{i}.5\n" for i, (s, c) in enumerate(rows))
    table = read_table(put(text), "y")
    assert table.feature_names == ["sex=m", "colour=blue", "colour=green", "colour=red"]
    expected = [[s == "m", c == "blue", c == "green", c == "red"] for s, c in rows]
    np.testing.assert_array_equal(table.X, np.array(expected, dtype=float))


def test_a_constant_category_is_left_out_with_a_note(put):
    table = read_table(put("a,c,y\n1,k,0\n2,k,1\n3,k,0\n5,k,1\n"), "y")
    assert table.feature_names == ["a"]
    assert any("'c' is always 'k'" in note for note in table.notes)


def test_names_are_not_categories(put):
    path = put("who,a,y\nann,1,0\nbob,2,1\ncyd,3,0\ndan,5,1\n")
    assert "'who'" in refusal(path, "y")
    assert "--drop 'who'" in refusal(path, "y")
    assert read_table(path, "y", drop=["who"]).feature_names == ["a"]


def test_a_stray_text_in_a_numeric_column_is_named(put):
    rows = [f"{i},{i % 2}" for i in range(20)]
    rows[7] = "7o,1"
    said = refusal(put("a,y\n" + "\n".join(rows)), "y")
    assert "line 9, column 'a'" in said
    assert "'7o'" in said


@pytest.mark.parametrize("word", ["", "NA", "N/A", "nan", "NaN", "null", "NULL", "?"])
def test_missing_values_are_an_error_unless_imputed(put, word):
    path = put(f"a,c,y\n1,p,0\n{word},q,1\n4,p,0\n4,{word},1\n")
    said = refusal(path, "y", impute=False)
    assert "column 'a' has 1 missing value (first: line 3)" in said
    assert "--no-impute" in said
    table = read_table(path, "y")
    assert table.feature_names == ["a", "a is missing", "c=q", "c is missing"]
    filled = [[1, 0, 0, 0], [3, 1, 1, 0], [4, 0, 0, 0], [4, 0, 0, 1]]  # the mean of 1, 4, 4; and p
    np.testing.assert_array_equal(table.X, filled)
    np.testing.assert_array_equal(table.values, [[1, 0], [np.nan, 1], [4, 0], [4, np.nan]])
    assert table.notes[:2] == [
        "column 'a': 1 missing value filled with 3",
        "column 'c': 1 missing value; the model is told where",
    ]


@pytest.mark.parametrize("word", ["-", "--", "None", "#N/A", "n.a."])
def test_a_dash_among_numbers_is_a_missing_value_and_among_texts_a_text(put, word):
    table = read_table(put(f"a,c,y\n1,{word},0\n{word},q,1\n4,{word},0\n4,q,1\n"), "y", impute=True)
    assert table.feature_names == ["a", "a is missing", f"c={max(word, 'q')}"]
    np.testing.assert_array_equal(table.X[:, :2], [[1, 0], [3, 1], [4, 0], [4, 0]])
    assert any("where values are missing" in note for note in table.notes)
    X = new_rows(put(f"a,c\n{word},q\n", "new.csv"), table.encoder).X
    np.testing.assert_array_equal(X[:, :2], [[3, 1]])


def test_the_target_is_never_imputed(put):
    said = refusal(put("a,y\n1,0\n2,\n3,1\n4,1\n5,0\n"), "y", impute=True)
    assert "target 'y' has 1 missing" in said
    assert "line 3" in said


# The target


@pytest.mark.parametrize(
    ("values", "task", "kind"),
    [
        (["no", "yes"] * 20, "classification", "U"),
        (["True", "False"] * 20, "classification", "U"),
        (["0", "1"] * 3, "classification", "i"),
        (["-1", "1"] * 20, "classification", "i"),
        (["1.0", "2.0"] * 20, "classification", "i"),
        (["1", "2", "3", "4"] * 10, "classification", "i"),
        (["1", "2", "3", "4", "5"] * 8, "regression", "f"),  # five of forty: more than a tenth
        ([str(i % 20) for i in range(400)], "classification", "i"),
        ([str(i % 21) for i in range(400)], "regression", "f"),
        (["0.5", "1.5"] * 20, "regression", "f"),
    ],
)
def test_the_task_is_recognised_by_the_stated_rule(put, values, task, kind):
    path = put("a,y\n" + "".join(f"{i}.5,{value}\n" for i, value in enumerate(values)))
    table = read_table(path, "y")
    assert (table.task, table.y.dtype.kind) == (task, kind)
    assert [str(value) for value in table.y] == values or np.array_equal(
        table.y, np.array(values, dtype=float)
    )
    assert any(task in note for note in table.notes)


def test_the_task_can_be_set(put):
    path = put("a,y\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(20)))
    assert read_table(path, "y", task="regression").y.dtype.kind == "f"
    table = read_table(put("a,y\n1,.1\n2,.2\n3,.1\n4,.2\n", "tenths.csv"), "y", task="classification")
    assert table.y.tolist() == ["0.1", "0.2", "0.1", "0.2"]
    words = put("a,y\n" + "".join(f"{i}.5,{'pq'[i % 2]}\n" for i in range(20)), "words.csv")
    assert "got 'p'" in refusal(words, "y", task="regression")
    with pytest.raises(DataError, match="must be one of auto, classification, regression"):
        read_table(path, "y", task="ranking")


def test_a_stray_text_among_numeric_labels_needs_a_word_from_the_user(put):
    path = put("a,y\n" + "".join(f"{i}.5,{label}\n" for i, label in enumerate("1212121U")))
    assert "--task classification" in refusal(path, "y")
    assert read_table(path, "y", task="classification").y.tolist() == list("1212121U")


def test_values_near_the_largest_float_are_kept_and_averaged(put):
    table = read_table(put("a,y\n1.5e308,0\n,1\n1.5e308,0\n1.5e308,1\n-1.5e308,1\n"), "y", impute=True)
    assert table.X[1, 0] == pytest.approx(0.75e308)


def test_without_a_target_y_is_none(put):
    table = read_table(put(PLAIN))
    assert table.y is None
    assert table.feature_names == ["a", "b", "y=v"]


# Other formats


def test_parquet_gives_what_csv_gives(put, tmp_path):
    columns = {
        "n": [1, 2, 3, 4, 5],
        "x": [0.5, None, 1.5, 2.5, 3.5],
        "s": ["p", "q", "r", "p", "q"],
        "t": [True, False, True, True, False],
        "y": ["u", "v", "u", "v", "u"],
    }
    frame = pa.table({**columns, "d": pa.array(["k", "l", "k", "l", "k"]).dictionary_encode()})
    pq.write_table(frame, tmp_path / "table.parquet")
    rows = zip(*columns.values(), "klklk")
    text = "n,x,s,t,y,d\n" + "".join(
        ",".join("" if v is None else str(v) for v in row) + "\n" for row in rows
    )
    ours = read_table(tmp_path / "table.parquet", "y", impute=True)
    csvs = read_table(put(text), "y", impute=True)
    assert (
        ours.feature_names
        == csvs.feature_names
        == [*("n", "x", "x is missing", "s=p", "s=q", "s=r", "t=True", "d=l")]
    )
    np.testing.assert_array_equal(ours.X, csvs.X)
    assert ours.y.tolist() == csvs.y.tolist()


@pytest.fixture
def parts(tmp_path):
    """A directory of three Parquet files with 1000, 0 and 500 rows, the third with its columns in another order."""
    place = tmp_path / "parts"
    (place / "more").mkdir(parents=True)
    x, y = np.arange(1500.0), np.resize(["u", "v"], 1500)
    pq.write_table(pa.table({"x": x[:1000], "y": y[:1000]}), place / "a.parquet", row_group_size=300)
    pq.write_table(pa.table({"x": x[:0], "y": y[:0].astype(str)}), place / "b.parquet")
    pq.write_table(pa.table({"y": y[1000:], "x": x[1000:]}), place / "more" / "c.parquet")
    (place / "_metadata").write_text("not a table")
    return place


def test_a_directory_of_parquet_files_is_one_table(parts):
    table = read_table(parts, "y")
    np.testing.assert_array_equal(table.X[:, 0], np.arange(1500))
    assert table.y.tolist() == ["u", "v"] * 750


def test_rows_of_parquet_files_are_sampled_and_it_is_noted(parts):
    table = read_table(parts, "y", max_rows=600)
    x = table.X[:, 0]
    assert len(x) == 600
    assert np.all(np.diff(x) > 0)
    amount = as_text(memory_at_most(600, 2, 88))
    said = f"used 600 of 1500 rows, drawn at random, and at most {amount} of memory; --max-rows and --max-memory change that"
    assert said in table.notes
    np.testing.assert_array_equal(np.where(x % 2 == 0, "u", "v"), table.y)
    # Binomial with mean 400 and deviation at most 10: five deviations.
    assert abs(np.sum(x < 1000) - 400) < 50
    np.testing.assert_array_equal(x, read_table(parts, "y", max_rows=600).X[:, 0])


def test_rows_to_predict_come_in_parts(parts, monkeypatch):
    encoder = read_table(parts, "y").encoder
    monkeypatch.setattr("foldless.cli.files.read_table.PART_MAX_CELLS", 400)
    tables = list(read_new(parts, encoder))
    assert max(table.n_rows for table in tables) == 400
    np.testing.assert_array_equal(np.concatenate([table.X[:, 0] for table in tables]), np.arange(1500))


def test_files_that_do_not_fit_together_are_named_with_the_column(parts):
    pq.write_table(pa.table({"x": np.arange(3), "y": ["u", "v", "u"]}), parts / "d.parquet")
    said = refusal(parts, "y")
    assert "d.parquet: column 'x' is int64 here and double in " in said
    assert "a.parquet" in said
    pq.write_table(pa.table({"x": np.arange(3.0), "z": [1, 2, 3], "y": ["u", "v", "u"]}), parts / "d.parquet")
    assert "d.parquet: column 'z' is int64 here and missing in " in refusal(parts, "y")
    (parts / "d.parquet").write_bytes(b"PAR1" + bytes(40))
    assert "d.parquet: not a readable Parquet file" in refusal(parts, "y")
    (parts.parent / "empty").mkdir()
    assert "no file *.parquet" in refusal(parts.parent / "empty", "y")


ARFF = """% a comment
@RELATION "small set"

@attribute 'body weight' REAL
@attribute colour {red, 'dark blue', "it's"}
@ATTRIBUTE flag {0,1}
@attribute class {yes,no}
@DATA
1.5, red, 0, yes
2.5, 'dark blue', 1, no
% between
3.5, "it's", 0, yes
4.5, red, 1, no
"""


def test_arff_numeric_nominal_and_quoted(put):
    table = read_table(put(ARFF, "a.arff"), "class")
    assert table.feature_names == ["body weight", "colour=red", "colour=dark blue", "colour=it's", "flag=1"]
    expected = [[1.5, 1, 0, 0, 0], [2.5, 0, 1, 0, 1], [3.5, 0, 0, 1, 0], [4.5, 1, 0, 0, 1]]
    np.testing.assert_array_equal(table.X, expected)
    assert table.y.tolist() == ["yes", "no", "yes", "no"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("1.5, red, 0, yes", "{0 1.5, 3 yes}", ["line 9", "sparse ARFF"]),
        ("1.5, red, 0, yes", "1.5, pink, 0, yes", ["line 9", "'colour'", "'pink'"]),
        (
            "1.5, red, 0, yes",
            "heavy, red, 0, yes",
            ["line 9", "'body weight'", "expected a number", "'heavy'"],
        ),
        ("1.5, red, 0, yes", "1.5, red, yes", ["line 9 has 3 fields, expected 4"]),
        ("1.5, red, 0, yes", "1.5, 'red, 0, yes", ["quote", "line 9"]),
        ("1.5, red, 0, yes", "?, red, 0, yes", ["'body weight'", "1 missing value", "line 9"]),
        ("REAL", "DATE 'yyyy'", ["'body weight'", "read are numeric"]),
        ("@DATA", "", ["needs @attribute lines and then @data"]),
        ("@attribute flag", "@attribute", ["line 6"]),
    ],
)
def test_arff_mistakes_are_named(put, before, after, words):
    text = ARFF.replace("@ATTRIBUTE", "@attribute")
    assert before in text
    said = refusal(put(text.replace(before, after), "a.arff"), "class", impute=False)
    assert all(word in said for word in words), said


def test_libsvm_is_recognised_and_names_columns_by_index(put):
    table = read_table(put("+1 1:0.5 3:2\n-1 2:1 # note\n+1 1:1\n-1 3:-4\n", "data.txt"))
    assert table.feature_names == ["x1", "x2", "x3"]
    np.testing.assert_array_equal(table.X, [[0.5, 0, 2], [0, 1, 0], [1, 0, 0], [0, 0, -4]])
    assert table.y.tolist() == [1, -1, 1, -1]
    assert table.task == "classification"


def test_a_new_libsvm_file_may_have_fewer_or_more_indices(put):
    encoder = read_table(put("1 1:1 3:3\n2 2:2\n1 3:1\n2 1:4\n", "a.svm")).encoder
    np.testing.assert_array_equal(new_rows(put("0 1:7\n", "b.svm"), encoder).X, [[7, 0, 0]])
    np.testing.assert_array_equal(new_rows(put("0 2:7 9:1\n", "c.svm"), encoder).X, [[0, 7, 0]])


def test_npz_brings_names_and_classes(tmp_path):
    path = tmp_path / "a.npz"
    X = np.arange(10.0).reshape(5, 2) ** 2
    np.savez(path, X=X, y=[0, 1, 0, 1, 1], feature_names=["p", "q"], class_names=["no", "yes"])
    table = read_table(path)
    np.testing.assert_array_equal(table.X, X)
    assert table.feature_names == ["p", "q"]
    assert table.y.tolist() == ["no", "yes", "no", "yes", "yes"]


def test_class_names_are_classes_also_when_most_are_digits(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.arange(9.0)[:, None], y=[0, 1, 1, 0, 1, 1, 0, 0, 2], class_names=["1", "2", "U"])
    assert read_table(path).y.tolist() == list("12212211U")


class Bomb:
    """Unpickling this is a failure of the test."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was loaded",)


def test_npz_never_unpickles(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez(path, X=np.array([[Bomb()]], dtype=object), y=[0])
    assert "plain arrays" in refusal(path)


# Broken files


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("", "t.csv", ["empty"]),
        ("  \n\n", "t.csv", ["empty"]),
        (",,\n,,\n", "t.csv", ["no values"]),
        ("a,b,y\n", "t.csv", ["0 rows", "at least 4"]),
        ("a,b,y\n1,2,0\n2,3,1\n3,4,0\n", "t.csv", ["3 rows"]),
        ("a,a,y\n1,2,0\n2,3,1\n3,4,0\n4,5,1\n", "t.csv", ["'a' occurs twice"]),
        ("a,b,y\n1,2,0\n2,3,1,9\n3,4,0\n4,5,1\n", "t.csv", ["line 3 has 4 fields, expected 3"]),
        ("a,b,y\n1,2,0\n\n2,3\n3,4,0\n4,5,1\n", "t.csv", ["line 4 has 2 fields"]),
        ('a,b,y\n1,2,0\n2,"3,1\n3,4,0\n4,5,1\n', "t.csv", ["quote"]),
        ("a,b,y\n1,2,0\n2,inf,1\n3,4,0\n4,5,1\n", "t.csv", ["line 3, column 'b'", "infinite"]),
        ("a,b,y\n1,2,0\n2,1e999,1\n3,4,0\n4,5,1\n", "t.csv", ["line 3, column 'b'", "infinite"]),
        ("a,b,y\n1,,0\n2,,1\n3,,0\n4,,1\n", "t.csv", ["'b' is empty", "--drop"]),
        ("a,y\n1,0\n2,0\n3,0\n4,0\n", "t.csv", ["one class only, '0'"]),
        ("a,y\n1,.5\n2,.5\n3,.5\n4,.5\n", "t.csv", ["one value only"]),
        ("a,y\n1,p\n2,q\n3,r\n4,s\n", "t.csv", ["4 classes in 4 rows"]),
        ("y\n0\n1\n0\n1\n", "t.csv", ["no column is left"]),
        ("a,Yield\n1,0\n2,1\n3,0\n4,1\n", "t.csv", ["no column 'y'", "'a', 'Yield'"]),
        ("a,y\n1,0\n2,1\n" + "3" * 200_000 + ",0\n4,1\n", "t.csv", ["field larger than", "line 3"]),
        (b"a,y\n1,caf\x81\n", "t.csv", ["0x81 on line 2", "UTF-8"]),
        (PLAIN.encode("utf-16"), "t.csv", ["UTF-16"]),
        (bytes(range(256)) * 8, "t.csv", ["not a text file"]),
        (b"PAR1" + bytes(200), "t.parquet", ["Parquet"]),
        (b"PK\x03\x04" + bytes(200), "t.npz", ["npz"]),
        (b"\x1f\x8b" + bytes(50), "t.csv.gz", ["cannot be read"]),
        ("1 1:a\n", "t.svm", ["LIBSVM"]),
        ("hello", "t.svm", ["LIBSVM"]),
        ("x", "t.xlsx", ["Excel"]),
        ("x", "t.pkl", [".pkl files are not read"]),
    ],
)
def test_a_broken_file_gives_one_line_that_names_the_fault(put, content, name, words):
    said = refusal(put(content, name), None if name.endswith(("svm", "npz")) else "y")
    assert all(word in said for word in words), said


def test_a_missing_file_and_a_directory(tmp_path):
    assert "no such file" in refusal(tmp_path / "nothing.csv")
    assert "directory" in refusal(tmp_path)


def test_a_wrong_column_name_is_answered_with_near_ones(put):
    path = put("petal_length,petal_width,Species\n1,2,0\n2,3,1\n3,4,0\n4,5,1\n")
    assert "Did you mean 'Species'" in refusal(path, "species")
    assert "'petal_width'" in refusal(path, "Species", drop=["petal_widht"])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"Z": np.eye(4)}, ["'X'"]),
        ({"X": np.arange(4.0)}, ["2-d array 'X'"]),
        ({"X": np.eye(4), "y": np.arange(3)}, ["y has shape (3,)"]),
        ({"X": np.eye(4), "feature_names": ["a"]}, ["1 names for the 4 columns"]),
        ({"X": np.where(np.eye(4), np.nan, 0)}, ["'x1' has 1 missing value (first: row 1)"]),
        ({"X": np.where(np.eye(4), np.inf, 0)}, ["row 1, column 'x1'", "infinite"]),
        ({"X": np.eye(4, dtype=complex)}, ["complex"]),
        ({"X": np.eye(4), "y": [1, 2, 1, 2], "class_names": ["p", "q"]}, ["y counts from 1 to 2", "2 words"]),
    ],
)
def test_npz_mistakes_are_named(tmp_path, arrays, words):
    path = tmp_path / "a.npz"
    np.savez(path, **arrays)
    said = refusal(path, impute=False)
    assert all(word in said for word in words), said


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    junk=st.binary(min_size=1, max_size=300), name=st.sampled_from(["j.csv", "j.arff", "j.svm", "j.npz", "j"])
)
def test_junk_never_raises_anything_but_data_error(tmp_path, junk, name):
    path = tmp_path / name
    for head in (b"", b"PK\x03\x04", b"PAR1", b"\x1f\x8b", b"@relation r\n@attribute a {", b"a,b\n"):
        path.write_bytes(head + junk)
        with contextlib.suppress(DataError):
            assert np.isfinite(read_table(path).X).all()


# New files


TRAIN = "n,sex,colour,y\n1,m,red,0\n2,f,blue,1\n3,m,green,0\n4,f,red,1\n6,m,blue,1\n6,m,green,0\n"


def test_the_training_file_encodes_to_itself_through_json(put):
    path = put(TRAIN)
    table = read_table(path, "y")
    encoder = Encoder.from_dict(json.loads(json.dumps(table.encoder.to_dict())))
    assert encoder == table.encoder
    np.testing.assert_array_equal(new_rows(path, encoder).X, table.X)


def test_columns_are_found_by_name_and_others_ignored_with_a_note(put):
    encoder = read_table(put(TRAIN), "y").encoder
    new = new_rows(put("colour,extra,n,sex\nblue,9,5,m\n", "new.csv"), encoder)
    np.testing.assert_array_equal(new.X, [[5, 1, 1, 0, 0]])
    assert new.y is None
    assert any("'extra'" in note for note in new.notes)


def test_an_unseen_level_is_no_level_among_many_and_halfway_between_two(put):
    encoder = read_table(put(TRAIN), "y").encoder
    new = new_rows(put("n,sex,colour\n5,f,pink\n5,x,red\n5,x,\n", "new.csv"), encoder)
    np.testing.assert_array_equal(new.values[:, 1:], [[0, -1], [-1, 2], [-1, np.nan]])
    np.testing.assert_array_equal(new.X[:2], [[5, 0, 0, 0, 0], [5, 0.5, 0, 0, 1]])
    assert new.unseen == {"sex": {"x": 2}, "colour": {"pink": 1}}


def test_what_a_new_file_lacks_is_named(put):
    encoder = read_table(put(TRAIN), "y", impute=False).encoder
    assert "'sex', 'colour'" in refusal(put("n\n1\n", "a.csv"), encoder, read=new_rows)
    assert "with --no-impute" in refusal(put("n,sex,colour\n,f,red\n", "b.csv"), encoder, read=new_rows)
    assert "line 2, column 'n'" in refusal(put("n,sex,colour\nten,f,red\n", "c.csv"), encoder, read=new_rows)
    assert "no rows" in refusal(put("n,sex,colour\n", "d.csv"), encoder, read=new_rows)


def test_new_files_are_filled_with_the_values_of_training(put):
    encoder = read_table(put(TRAIN.replace("\n4,", "\n,")), "y", impute=True).encoder
    X = new_rows(put("n,sex,colour\n,f,red\n100,,red\n", "new.csv"), encoder).X
    # The mean of 1, 2, 3, 6, 6, and that it was missing; a gap where there was none in training becomes the level m.
    np.testing.assert_allclose(X, [[3.6, 1, 0, 0, 0, 1], [100, 0, 1, 0, 0, 1]])


# Round trip

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=6)


@st.composite
def tables(draw):
    """Column names and rows of floats: what a CSV file can hold."""
    names = draw(st.lists(NAMES.map(lambda name: "c" + name), min_size=1, max_size=5, unique=True))
    number = st.floats(allow_nan=False, allow_infinity=False)
    return names, draw(st.lists(st.tuples(*[number] * len(names)), min_size=4, max_size=12))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(), delimiter=st.sampled_from([",", ";", "\t", "|"]))
def test_any_table_of_numbers_comes_back_from_csv(tmp_path, table, delimiter):
    names, rows = table
    path = tmp_path / "round.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    back = read_table(path, delimiter=delimiter)
    np.testing.assert_array_equal(back.X, np.array(rows))
    assert back.feature_names == names


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(), delimiter=st.sampled_from([",", ";", "\t", "|"]))
def test_the_delimiter_of_any_table_of_numbers_is_recognised(tmp_path, table, delimiter):
    names, rows = [f"c{j}" for j in range(len(table[0]))], table[1]
    path = tmp_path / "round.csv"
    path.write_text("\n".join(delimiter.join(map(str, row)) for row in [names, *rows]))
    np.testing.assert_array_equal(read_table(path).X, np.array(rows))


def test_a_line_of_delimiters_inside_a_table_is_a_row_and_around_it_nothing(tmp_path):
    """So that predictions have as many lines as the file has rows."""
    path = tmp_path / "data.csv"
    path.write_text(",\na,b\n1,2\n3,4\n,\n5,6\n,\n\n", encoding="utf-8")
    sheet = read_delimited(path, path.read_text(encoding="utf-8"))
    assert [column.name for column in sheet.columns] == ["a", "b"]
    assert [len(column.cells) for column in sheet.columns] == [4, 4]
    assert sheet.lines == [3, 4, 5, 6]
