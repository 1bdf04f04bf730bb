"""Data run nothing: what each file may make the tool do, as docs/security.md says it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sears_dsl import _compiled
from sears_dsl._documents import read_document
from sears_dsl.batch.validated import record_tagger, tagger_findings, validated_with
from sears_dsl.cli.main import sears
from sears_dsl.cli.taggers import chosen_tagger
from sears_dsl.errors import DataError, Diagnostic, SearsError, Span, TaggerError, UsageError
from sears_dsl.language.ruleset import Ruleset, load
from sears_dsl.text.pinned import PinnedTagger
from sears_dsl.text.tagger import load_named, load_tagger

RULE = """\
NOUN is -> it is
  test "Color/NOUN/NN is/AUX/VBZ red" => "It is red"
"""
# Whatever runs any part of it leaves the file behind.
EVIL = """\
from pathlib import Path

Path("ran").write_text("imported")

def main(*arguments, **options):
    Path("ran").write_text("called")
"""
MODEL = """\
def predict(texts):
    return ["yes" for text in texts]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's folder, in which the user stands, and from which Python imports."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "r.sear").write_text(RULE, "utf-8")
    (tmp_path / "d.csv").write_text("text,label\nColor is red,yes\nA cat is here,no\n", "utf-8")
    (tmp_path / "evil.py").write_text(EVIL, "utf-8")
    (tmp_path / "obedient.py").write_text(MODEL, "utf-8")
    for name in ("xx_evil_model", "en_core_web_sm"):
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").write_text(EVIL, "utf-8")
        (package / "meta.json").write_text('{"lang": "en", "name": "evil"}', "utf-8")
        (package / "config.cfg").write_text("", "utf-8")
    record = tmp_path / "xx_evil_model-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: xx_evil_model\nVersion: 1.0\n")
    yield tmp_path
    assert not (tmp_path / "ran").exists(), "data ran code"
    for name in ("evil", "xx_evil_model"):
        assert name not in sys.modules


def write_manifest(folder: Path, **fields: Any) -> Ruleset:
    told = {"format": "sears-manifest", "version": 1, **fields}
    (folder / "r.manifest.json").write_text(json.dumps(told), "utf-8")
    return load(folder / "r.sear")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(sears, arguments, standalone_mode=False)


def assert_ours(result: Result, said: str = "") -> None:
    """The run ended in an error of ours, not in another one."""
    assert isinstance(result.exception, SearsError), result.exception
    assert said in result.exception.render()


# ---------------------------------------------------------------- manifests beside rule files

COMMANDS: dict[str, tuple[str, ...]] = {
    "augment": ("r.sear", "d.csv", "-o", "a.csv", "--column", "text", "--label", "label"),
    "audit": ("r.sear", "--model", "obedient:predict", "--data", "d.csv", "--column", "text",
              "--label", "label", "--scorer", "none", "-o", "audit"),
    "vet": ("r.sear", "--model", "obedient:predict", "--data", "d.csv", "--column", "text",
            "--label", "label"),
    "vetted": ("r.sear", "r.me.vetting.jsonl", "-o", "v.sear"),
    "fix": ("r.sear", "--train", "d.csv", "--data", "d.csv", "--column", "text",
            "--label", "label", "--seeds", "1", "-o", "fix.json"),
}  # fmt: skip
STRANGE_TAGGERS = [
    "os:abort",
    "evil:main",
    "evil:Path",
    "builtins:exec",
    "spacy:./xx_evil_model",
    "spacy:xx_evil_model",
    "spacy:/xx_evil_model",
    "spacy:../xx_evil_model",
    "spacy:evil",
    "spacy:",
    "spacy:en_core_web_sm/../../evil",
    "fast:main",
    "FAST",
    "pinned",
]


def vetting_journal(folder: Path) -> None:
    from sears_dsl.vetting.journal import Journal

    with Journal(folder / "r.me.vetting.jsonl", ruleset=load("r.sear"), reviewer="me"):
        pass


@pytest.mark.parametrize("field", ["tagger", "validated_with"])
@pytest.mark.parametrize("name", STRANGE_TAGGERS)
def test_a_manifest_cannot_have_code_imported(folder: Path, name: str, field: str) -> None:
    value = f"{name} 1" if field == "tagger" else [f"{name} 1"]
    ruleset = write_manifest(folder, **{field: value})
    with pytest.raises(TaggerError) as caught:
        chosen_tagger([ruleset], None, quiet=True)
    assert name.partition(" ")[0] in caught.value.message
    assert "--tagger" in caught.value.help


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_runs_what_a_manifest_names(folder: Path, command: str) -> None:
    vetting_journal(folder)
    write_manifest(folder, validated_with=["evil:main 1"])
    assert_ours(run(command, *COMMANDS[command]), "name it by hand: --tagger evil:main")


@pytest.mark.parametrize("command", ["apply", "test", "check"])
def test_commands_that_take_no_tagger_from_files_go_on(folder: Path, command: str) -> None:
    write_manifest(folder, tagger="os:abort 1", validated_with=["evil:main 1"])
    more = ("d.csv", "-o", "o.jsonl", "--column", "text", "--no-cache")
    done = run(command, "r.sear", *(more if command == "apply" else ()))
    assert done.exception is None
    if command == "apply":
        assert "W701" in done.stderr
        assert "only you may name it" in done.stderr


def test_a_process_with_the_current_folder_on_its_path_runs_nothing(folder: Path) -> None:
    for names in (["os:abort 1"], ["evil:main 1"], ["spacy:xx_evil_model 1"]):
        write_manifest(folder, validated_with=names)
        done = subprocess.run(
            [sys.executable, "-c", "from sears_dsl.cli import main; main()", "augment",
             *COMMANDS["augment"]],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([".", *sys.path])},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("sears: the rules were validated with the tagger ")
        assert "--tagger" in done.stderr


def test_what_a_person_names_is_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "mine.py").write_text(
        "from sears_dsl.text.pinned import PinnedTagger\n\ndef make():\n    return PinnedTagger()\n"
    )
    ruleset = write_manifest(folder, validated_with=["mine:make 1"])
    assert chosen_tagger([ruleset], "mine:make", quiet=True) == "mine:make"
    assert load_tagger("mine:make").name == "pinned"


def test_an_installed_tagger_beside_a_strange_one_is_taken(folder: Path) -> None:
    ruleset = write_manifest(folder, tagger="os:abort 1", validated_with=["evil:main 1", "fast 1"])
    assert chosen_tagger([ruleset], None, quiet=True) == "fast"
    installed = load_tagger("spacy").name
    ruleset = write_manifest(folder, tagger="os:abort 1", validated_with=[f"{installed} 1"])
    assert chosen_tagger([ruleset], None, quiet=True) == installed


def test_a_folder_does_not_stand_in_the_place_of_an_installed_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = load_tagger("spacy").name
    package = name.removeprefix("spacy:")
    monkeypatch.syspath_prepend("/nowhere")
    (folder / package).mkdir(exist_ok=True)
    (folder / package / "meta.json").write_text('{"lang": "xx"}', "utf-8")
    (folder / package / "__init__.py").unlink(missing_ok=True)
    assert load_named(name).language == "en"


MALFORMED = [
    {"validated_with": "os:abort 1"},
    {"validated_with": {"os:abort": 1}},
    {"validated_with": [1, None]},
    {"validated_with": [["os:abort 1"]]},
    {"validated_with": [{"name": "fast"}]},
    {"validated_with": [""]},
    {"validated_with": ["fast 1\nhello"]},
    {"validated_with": ["\x1b]0;title\x07 1"]},
    {"validated_with": ["fast " + "1" * 100_000]},
    {"tagger": 5},
    {"tagger": ["fast 1"]},
    {"tagger": {"a": "b"}},
    {"tagger": ""},
]


@pytest.mark.parametrize("fields", MALFORMED, ids=str)
def test_fields_of_the_wrong_type_are_told(folder: Path, fields: dict[str, Any]) -> None:
    ruleset = write_manifest(folder, **fields)
    for use in (
        lambda: validated_with(ruleset),
        lambda: chosen_tagger([ruleset], None, quiet=True),
        lambda: tagger_findings([ruleset], PinnedTagger),
    ):
        with pytest.raises(DataError, match=r"r\.manifest\.json names no taggers") as caught:
            use()
        assert "\x1b" not in caught.value.render()


NO_DOCUMENTS: dict[str, Callable[[Path], object]] = {
    "deep": lambda path: path.write_text("[" * 200_000, "utf-8"),
    "deep objects": lambda path: path.write_text('{"a":' * 100_000, "utf-8"),
    "a large number": lambda path: path.write_text('{"version": 1' + "0" * 10_000 + "}", "utf-8"),
    "no utf-8": lambda path: path.write_bytes(b'{"format": "\xff\xfe"}'),
    "a pipe": os.mkfifo,
    "a folder": lambda path: path.mkdir(),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "itself": lambda path: path.symlink_to(path.name),
}


@pytest.mark.parametrize("kind", NO_DOCUMENTS)
def test_a_manifest_that_is_no_document_is_told(folder: Path, kind: str) -> None:
    NO_DOCUMENTS[kind](folder / "r.manifest.json")
    with pytest.raises(DataError, match=r"r\.manifest\.json could not be read"):
        validated_with(load(folder / "r.sear"))
    with pytest.raises(DataError, match=r"r\.manifest\.json could not be read"):
        record_tagger(load(folder / "r.sear"), load_tagger("fast"))


# ---------------------------------------------------------------- compiled code


@pytest.mark.skipif(os.name == "nt", reason="rights of another kind")
def test_compiled_code_is_read_only_from_where_nobody_else_writes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(_compiled.__file__).parent
    find = _compiled._folder_beside.__wrapped__
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    own = find(home)
    assert own is not None
    base = folder / "kernels"
    base.mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(base))
    place = find(home)
    assert place is not None
    assert place.parent == base
    for opened in (place, base):
        mode = opened.stat().st_mode
        opened.chmod(0o777)
        with pytest.raises(UsageError, match="others can write there") as caught:
            find(home)
        assert "chmod o-w" in caught.value.help
        opened.chmod(mode)
    base.chmod(0o1777)  # as /tmp is: what lies in it stays where it is
    assert find(home) == place
    if os.geteuid() == 0:
        os.chown(place, 12345, 12345)
        with pytest.raises(UsageError, match="others can write there"):
            find(home)
        base.chmod(0o755)
        os.chown(base, 12345, 12345)
        assert find(home) == place  # named by hand, and all of it one person's


KERNEL = """\
from sears_dsl._compiled import kernel
from sears_dsl.errors import SearsError

@kernel
def double(number):
    return 2 * number

try:
    print(double(21), double.used)
except SearsError as error:
    print(error.render())
"""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("cache_dir: kernels\n", "42 True\n"),
        ("cache_locator_classes: evil.main\n", "42 True\n"),
        ("- a list\n", "numba, which compiles the matcher, could not be loaded"),
        ("a: [\n", "remove .numba_config.yaml"),
    ],
)
def test_settings_of_numba_in_the_current_folder_decide_nothing(
    folder: Path, settings: str, said: str
) -> None:
    (folder / ".numba_config.yaml").write_text(settings, "utf-8")
    (folder / "doubling.py").write_text(KERNEL, "utf-8")
    environment = {**os.environ, "SEARS_COMPILE": "always"}
    done = subprocess.run(
        [sys.executable, "doubling.py"], capture_output=True, text=True, check=False,
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert said in done.stdout, done.stderr
    assert not (folder / "kernels").exists()


def test_messages_do_not_drive_the_terminal() -> None:
    hostile = "\x1b]0;title\x07\x9b31m\r\x00\u202e"
    shown = [
        SearsError(f"no {hostile}", help=f"not {hostile}\nnor\t{hostile}").render(),
        Diagnostic("E100", f"no {hostile}", path=hostile, help=hostile).render(),
        Diagnostic("E100", "no", Span(1, 1, 2), source=hostile, path=hostile).render(),
    ]
    for text in shown:
        assert all(each.isprintable() or each in "\n\t" for each in text), repr(text)
    assert "no \\x1b]0;title\\x07\\x9b31m" in shown[0]


def test_a_document_has_a_bound(folder: Path) -> None:
    path = folder / "large.json"
    path.write_bytes(b" " * 1_000)
    assert len(read_document(path, most=1_000)) == 1_000
    with pytest.raises(OSError, match="it has more than"):
        read_document(path, most=999)
