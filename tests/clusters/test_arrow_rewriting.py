"""Rules as a function of Arrow batches, for engines that supply the batches."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from command_line import call

import sears_dsl as sears
from sears_dsl.errors import DataError, UsageError

RULES = "rule film: movie -> film\n"
TABLE = pyarrow.table(
    {
        "id": pyarrow.array([7, 8, 9], pyarrow.int32()),
        "text": ["A movie.", None, "A play."],
        "label": pyarrow.array([0.5, 1.0, None], pyarrow.float32()),
    }
)


@pytest.mark.parametrize("mode", ["each", "chain"])
def test_batches_become_what_apply_makes_of_the_file(tmp_path: Path, mode: str) -> None:
    (tmp_path / "r.sear").write_text(RULES)
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet")
    keep = ["--keep", "label"] if mode == "each" else []
    done = call("apply", "r.sear", "a.parquet", "-o", "b.parquet", "--mode", mode, *keep,
                folder=tmp_path)  # fmt: skip
    assert done.returncode == 0
    rewriter = sears.arrow_rewriter(
        str(tmp_path / "r.sear"), column="text", mode=mode, keep=["label"] if keep else []
    )
    rewritten = pickle.loads(pickle.dumps(rewriter))(TABLE)  # noqa: S301 - made a line before
    assert rewritten.equals(pyarrow.parquet.read_table(tmp_path / "b.parquet"))
    assert rewritten.schema == rewriter.schema(TABLE.schema)


def test_batches_in_which_nothing_changes_have_the_schema_too(tmp_path: Path) -> None:
    rewriter = sears.arrow_rewriter(sears.parse(RULES), column="text")
    batches = TABLE.slice(1).to_batches()
    assert [each.schema for each in rewriter.batches(batches)] in (
        [],
        [rewriter.schema(TABLE.schema)],
    )
    assert rewriter(TABLE.slice(1)).num_rows == 0


def test_what_a_batch_cannot_tell_is_asked_for() -> None:
    rewriter = sears.arrow_rewriter(sears.parse(RULES), column="text")
    with pytest.raises(UsageError, match="need ids"):
        rewriter(TABLE.drop(["id"]))
    with pytest.raises(DataError, match="no column 'text'"):
        rewriter(TABLE.drop(["text"]))


_SPARK = """
import pyspark.sql, sears_dsl as sears, sys
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
spark = (pyspark.sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
         .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
         .getOrCreate())
reviews = spark.read.parquet("in")
rewriter = sears.arrow_rewriter("r.sear", column="text", keep="label")
schema = from_arrow_schema(rewriter.schema(to_arrow_schema(reviews.schema)))
reviews.mapInArrow(rewriter.batches, schema).write.parquet("spark")
spark.stop()
"""


@pytest.mark.skipif(
    find_spec("pyspark") is None or shutil.which("java") is None,
    reason="pyspark (400 MB) or java is not installed: pip install pyspark, "
    "apt install default-jre-headless",
)
def test_spark_gets_the_rows_of_one_machine(tmp_path: Path) -> None:
    (tmp_path / "r.sear").write_text(RULES)
    (tmp_path / "in").mkdir()
    for part in range(3):
        texts = [f"A {('movie', 'play')[row % 2]} of {row}." for row in range(40)]
        ids = [f"{part}-{row}" for row in range(40)]
        table = pyarrow.table({"id": ids, "text": texts, "label": list(range(40))})
        pyarrow.parquet.write_table(table, tmp_path / "in" / f"{part}.parquet")
    done = call("apply", "r.sear", "in", "-o", "out", "--keep", "label", folder=tmp_path)
    assert done.returncode == 0
    subprocess.run(
        [sys.executable, "-c", _SPARK], cwd=tmp_path, check=True, capture_output=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )  # fmt: skip
    rows = [
        pyarrow.parquet.read_table(tmp_path / folder).sort_by("id").to_pylist()
        for folder in ("out", "spark")
    ]
    assert len(rows[0]) == 60
    assert rows[0] == rows[1]


def test_what_is_no_table_of_arrow_is_reported() -> None:
    pandas = pytest.importorskip("pandas")
    rewriter = sears.arrow_rewriter(sears.parse(RULES), column="text", mode="chain")
    for data in (pandas.DataFrame({"text": ["A movie."]}), ["A movie."]):
        with pytest.raises(UsageError, match="is not a table of Arrow") as caught:
            rewriter(data)
        assert "pyarrow.table(data)" in caught.value.help
