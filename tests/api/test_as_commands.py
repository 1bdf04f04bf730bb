"""A function and its command give the same: equal defaults, answers and files."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest
from brittle_model import ROWS, close, predict, reword
from click.testing import CliRunner

import sears_dsl as sears
from sears_dsl.cli.commands import sears as commands
from sears_dsl.repair.report import BUILT_IN

MODEL = ("--model", "brittle_words:predict", "--data", "rows.csv", "--label", "label")
PARTS = ("--paraphrases", "brittle_words:reword", "--scorer", "brittle_words:close", "--jobs", "1")


def run(*arguments: str, exits: int = 0) -> None:
    done = CliRunner().invoke(commands, [*arguments, "--quiet"])
    assert done.exit_code == exits, (done.output, done.exception)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def assert_same(one: str, other: str, *names: str) -> None:
    """Two folders have the same files of these names."""
    for name in names:
        assert Path(one, name).read_bytes() == Path(other, name).read_bytes(), name


def without_identity(document: dict) -> dict:
    """A function has no source that a manifest could name."""
    return {name: value for name, value in document.items()
            if name not in ("model", "scorer", "paraphraser")}  # fmt: skip


def test_discover(folder: Path) -> None:
    run("discover", *MODEL, *PARTS, "--no-known", "-o", "found.sear")
    found = sears.discover(predict, "rows.csv", label="label", with_shipped=False,
                           paraphraser=reword, scorer=close)  # fmt: skip
    found.save("own/found.sear")
    assert found.rules
    assert_same(".", "own", "found.sear")
    manifests = (json.loads(Path(place, "found.manifest.json").read_text("utf-8"))
                 for place in (".", "own"))  # fmt: skip
    assert next(map(without_identity, manifests)) == next(map(without_identity, manifests))
    assert found.ruleset == sears.load("found.sear")


def test_discover_as_the_paper_does(folder: Path) -> None:
    run("discover", *MODEL, *PARTS, "--paper", "--minimum-flips", "2", "-o", "found.sear")
    found = sears.discover("brittle_words:predict", "rows.csv", label="label", paper=True,
                           minimum_flips=2, paraphraser="brittle_words:reword",
                           scorer="brittle_words:close", jobs=1)  # fmt: skip
    found.save("own/found.sear")
    assert_same(".", "own", "found.sear", "found.manifest.json", "found.md")


def test_what_is_chosen_comes_before_the_paper_even_where_it_is_the_default(folder: Path) -> None:
    """Another scorer keeps its own τ: the paper's is for the paper's score."""
    run("discover", *MODEL, *PARTS, "--paper", "--propose-from", "paraphrases", "-o", "found.sear")
    found = sears.discover("brittle_words:predict", "rows.csv", label="label", paper=True,
                           propose_from="paraphrases", paraphraser=reword,
                           scorer=close)  # fmt: skip
    settings = json.loads(Path("found.manifest.json").read_text("utf-8"))["settings"]
    assert settings["propose_from"] == "paraphrases"
    own = found.discovery.settings
    assert (own.propose_from, own.tau, own.minimum_flips) == ("paraphrases", None, 6)


def test_adversaries(folder: Path) -> None:
    run("adversaries", *MODEL, *PARTS, "--top", "2", "-o", "one.csv")
    found = sears.adversaries(predict, "rows.csv", label="label", paraphraser=reword, scorer=close,
                              top=2)  # fmt: skip
    found.save("other.csv")
    assert len(found) == found.rows_flipped == 8
    assert read(Path("one.csv")) == read(Path("other.csv"))


def test_audit_and_compare(folder: Path) -> None:
    options = ("--max-flip-rate", "5%", "--scorer", "brittle_words:close", "--slice", "label",
               "--tolerance", "10%", "--gate", "robust:all=90%")  # fmt: skip
    run("audit", "rules.sear", *MODEL, *options, "-o", "one", exits=1)
    found = sears.audit("brittle_words:predict", "rows.csv", "rules.sear", label="label",
                        max_flip_rate="5%", scorer="brittle_words:close", tolerance="10%",
                        gates=["robust:all=90%"], slices=["label"])  # fmt: skip
    found.save("other")
    assert found.robustness is not None
    assert found.robustness.records[0].selector == "all"
    assert not found.passed
    assert_same("one", "other", "audit.json", "audit.md", "audit.html", "junit.xml")
    comparison = ("comparison.json", "comparison.md", "comparison.html")

    run("compare", "one", "other", "-o", "both")
    compared = sears.compare("one", found)
    compared.save("again")
    assert not compared.worse
    assert_same("both", "again", *comparison)

    third = Path("third")
    third.mkdir()
    (third / "audit.json").write_bytes(Path("one", "audit.json").read_bytes())
    run("compare", "one", "other", "third", "-o", "grid")
    grid = sears.compare("one", "other", third)
    grid.save("grid again")
    assert grid.document.worse is grid.worse is False
    assert grid.columns["audit"] == ["one", "other", "third"] * len(grid.rules)
    assert_same("grid", "grid again", *comparison)


def test_audit_of_several_models(folder: Path) -> None:
    options = ("--max-flip-rate", "5%", "--scorer", "brittle_words:close")
    run("audit", "rules.sear", *MODEL, "--model", "again=brittle_words:predict", *options,
        "-o", "one", exits=1)  # fmt: skip
    found = sears.audit(["brittle_words:predict", "again=brittle_words:predict"], "rows.csv",
                        "rules.sear", label="label", max_flip_rate="5%",
                        scorer="brittle_words:close")  # fmt: skip
    found.save("other")
    assert not found.passed
    assert found.columns["audit"][:2] == ["brittle_words:predict", "again"]
    assert_same("one", "other", "comparison.json", "comparison.md", "comparison.html",
                "again/audit.json")  # fmt: skip


def test_score(folder: Path) -> None:
    Path("pairs.csv").write_text("original,rewrite\na movie,a film\na play,a show\n")
    run_options = ("pairs.csv", "--scorer", "brittle_words:close", "--tau", ".5", "-o", "one.csv")
    done = CliRunner().invoke(commands, ["score", *run_options])
    assert done.exit_code == 0, done.output
    found = sears.score("pairs.csv", scorer=close, tau=0.5)
    assert [float(row["score"]) for row in read(Path("one.csv"))] == found.scores.tolist()
    assert [row["equivalent"] for row in read(Path("one.csv"))] == ["1", "1"]
    assert found.equivalent.tolist() == [True, True]
    done = CliRunner().invoke(commands, ["score", *run_options[:-1], "one.csv.gz"])
    assert done.exit_code == 0, done.output
    assert gzip.decompress(Path("one.csv.gz").read_bytes()) == Path("one.csv").read_bytes()
    assert sears.score([("a movie", "a film")], scorer=close).tau == 0.5


def test_augment(folder: Path) -> None:
    run("augment", "rules.sear", "rows.csv", "--label", "label", "--amount", "50%", "-o", "one.csv")
    rows = sears.augment("rows.csv", "rules.sear", label="label", amount="50%")
    assert [{name: str(value) for name, value in row.items()} for row in rows] == read(
        Path("one.csv")
    )


def test_fix(folder: Path) -> None:
    pytest.importorskip("sklearn")
    lines = [f"The movie was {mood} {n} times.,{mood}\n"
             for n in range(10) for mood in ("good", "bad")]  # fmt: skip
    Path("held.csv").write_text("".join(["text,label\n", *lines]), "utf-8")
    run("fix", "rules.sear", "--train", "rows.csv", "--data", "held.csv", "--label", "label",
        "--seeds", "2", "-o", "one.json")  # fmt: skip
    found = sears.fix("rows.csv", "held.csv", "rules.sear", label="label", seeds=2)
    found.save("other.json")
    assert Path("one.json").read_bytes() == Path("other.json").read_bytes()
    assert Path("one.md").read_bytes() == Path("other.md").read_bytes()
    assert found.summary.endswith(BUILT_IN)

    run("fix", "rules.sear", "--train", "rows.csv", "--data", "held.csv", "--label", "label",
        "--seeds", "1", "--amounts", "none,full", "-o", "amounts.json")  # fmt: skip
    amounts = sears.fix_by_amount("rows.csv", "held.csv", "rules.sear", label="label", seeds=1,
                                  amounts=["none", "full"])  # fmt: skip
    amounts.save("again.json")
    assert amounts.columns["amount"] == ["none", "full"]
    assert amounts.summary.endswith(BUILT_IN)
    assert Path("amounts.json").read_bytes() == Path("again.json").read_bytes()
    assert Path("amounts.md").read_bytes() == Path("again.md").read_bytes()
    assert amounts._repr_html_().count("<tr>") == 3


def test_applying_takes_what_its_command_takes(folder: Path) -> None:
    Path("near.txt").write_text("movie 1 0\nfilm 0.9 0.1\n", "utf-8")
    Path("near.sear").write_text("movie -> $1.neighbor\n", "utf-8")
    Path("rows").mkdir()
    rows = [{"id": "1", "text": "A movie.", "at": 2, "what": "mo"},
            {"id": "2", "text": "A movie.", "at": 0, "what": "A"}]  # fmt: skip
    Path("rows", "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    common = ("--mode", "chain", "--vectors", "near.txt")
    near = {"mode": "chain", "vectors": "near.txt"}
    for name, options, chosen in (
        ("originals", ("--with-originals",), {"with_originals": True}),
        ("touched", ("--span", "text=at+what", "--on-touched", "drop"),
         {"spans": ["text=at+what"], "on_touched": "drop"}),
    ):  # fmt: skip
        run("apply", "near.sear", "rows", "-o", name, *common, *options)
        sears.apply_folder("rows", "near.sear", f"own-{name}", **near, **chosen)
        one, other = (Path(place, "a.jsonl").read_text("utf-8") for place in (name, f"own-{name}"))
        assert one == other
        assert "film" in one
        in_memory = sears.apply("rows/a.jsonl", "near.sear", **near, **chosen)
        assert in_memory == list(map(json.loads, one.splitlines()))
    assert len(in_memory) == 1


def test_amounts_of_noise_are_of_models_that_read_more_than_the_text(folder: Path) -> None:
    rows = [{"text": f"The movie {n}.", "label": "a", "choices": "a"} for n in range(9)]

    def train(texts: list[str], labels: list[str], seed: int) -> object:
        return lambda rows: [row["choices"] for row in rows]

    found = sears.fix_by_amount(rows[1:], rows, "rules.sear", text="text", label="label",
                                choices="choices", train=train, seeds=1, amounts="none",
                                same_rows=True)  # fmt: skip
    assert found.columns["clean"] == [0.0]


def test_commands_know_the_names_of_classes(folder: Path) -> None:
    datasets = pytest.importorskip("datasets")
    kinds = {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    rows = [{"text": text, "label": int(mood == "good")} for text, mood in ROWS]
    datasets.Dataset.from_list(rows, features=datasets.Features(kinds)).to_parquet("rows.parquet")
    model = ("--model", "brittle_words:predict", "--data", "rows.parquet", "--label", "label")
    run("audit", "rules.sear", *model, "--scorer", "none", "-o", "audited")
    assert json.loads(Path("audited/audit.json").read_text())["rules"][0]["flips"]["count"] == 8
    run("discover", *model, *PARTS, "--no-known", "-o", "found.sear")
    assert "movie -> film" in Path("found.sear").read_text()
    run("adversaries", *model, *PARTS, "-o", "one.csv")
    assert "good" in Path("one.csv").read_text()
