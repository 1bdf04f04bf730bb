"""Data runs nothing: each file can only do what docs/security.md says."""

from __future__ import annotations

import copy
import hmac
import io
import json
import os
import pickle
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from command_line import run

from sears_dsl.batch.partial import PartialOutput
from sears_dsl.batch.provenance import record_tagger, tagger_findings, validated_with
from sears_dsl.cli.options.shared import chosen_tagger
from sears_dsl.errors import (
    CacheError,
    DataError,
    Diagnostic,
    SearsError,
    Span,
    TaggerError,
    UsageError,
)
from sears_dsl.language.loader import load
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.models.cached import PredictionStore
from sears_dsl.paraphrasing.memory import RememberedScorer, remembered_paraphrases
from sears_dsl.runtime import kernels
from sears_dsl.runtime.database import RunJournal
from sears_dsl.runtime.files import is_marked, mark, read_document, write_atomically
from sears_dsl.tagging.cache import TagCache
from sears_dsl.tagging.fast import weights
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tagger import load_named, load_tagger
from sears_dsl.vetting import journal as vetting

RULE = """\
NOUN is -> it is
  test "Color/NOUN/NN is/AUX/VBZ red" => "It is red"
"""
# Running any part of it leaves the file behind.
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
    """A stranger's folder, which is the current one, and from which Python imports."""
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


def assert_ours(result: Result, said: str = "") -> None:
    """Check that the run ended in one of our errors."""
    assert isinstance(result.exception, SearsError), result.exception
    assert said in result.exception.render()


# ---------------------------------------------------------------- manifests beside rule files

COMMANDS: dict[str, tuple[str, ...]] = {
    "export": ("r.sear", "--data", "d.csv", "-o", "suite.pkl", "--column", "text"),
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
    with vetting.Journal(folder / "r.me.vetting.jsonl", ruleset=load("r.sear"), reviewer="me"):
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


@pytest.mark.parametrize("name", ["site-packages", "dist-packages", "lib"])
def test_a_package_below_the_current_folder_is_not_installed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    place = folder / name
    place.mkdir()
    for each in ("xx_evil_model", "xx_evil_model-1.0.dist-info"):
        (folder / each).rename(place / each)
    monkeypatch.syspath_prepend(str(place))
    with pytest.raises(TaggerError, match="there is no spaCy model 'xx_evil_model'"):
        load_named("spacy:xx_evil_model")


def test_what_a_person_names_is_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "mine.py").write_text(
        "from sears_dsl.tagging.pinned import PinnedTagger\n\n"
        "def make():\n    return PinnedTagger()\n"
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
def test_fields_of_the_wrong_type_are_reported(folder: Path, fields: dict[str, Any]) -> None:
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
def test_a_manifest_that_is_no_document_is_reported(folder: Path, kind: str) -> None:
    NO_DOCUMENTS[kind](folder / "r.manifest.json")
    with pytest.raises(DataError, match=r"r\.manifest\.json cannot be read"):
        validated_with(load(folder / "r.sear"))
    with pytest.raises(DataError, match=r"r\.manifest\.json cannot be read"):
        record_tagger(load(folder / "r.sear"), load_tagger("fast"))


# ---------------------------------------------------------------- compiled code


@pytest.mark.skipif(os.name == "nt", reason="rights of another kind")
def test_compiled_code_is_read_only_from_where_nobody_else_writes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(kernels.__file__).parent
    find = kernels._folder_beside.__wrapped__
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
        assert caught.value.help.endswith(f"chmod o-w {opened.resolve()}")
        opened.chmod(mode)
    base.chmod(0o1777)  # like /tmp, where only owners may move files
    assert find(home) == place
    if os.geteuid() == 0:
        os.chown(place, 12345, 12345)
        with pytest.raises(UsageError, match="others can write there") as caught:
            find(home)
        assert caught.value.help == "name a folder of your own", "another account owns it"
        os.chown(base, 12345, 12345)
        with pytest.raises(UsageError, match="others can write there"):
            find(home)  # where all can write, that account may have put it there
        base.chmod(0o755)
        assert find(home) == place  # named by hand, and owned by one person


KERNEL = """\
from sears_dsl.runtime.kernels import kernel
from sears_dsl.errors import SearsError

@kernel
def double(number):
    return 2 * number

try:
    print(double(21), bool(double.dispatcher().signatures))
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


# ---------------------------------------------------------------- what runs leave and find again


def test_folders_of_unfinished_runs_are_the_users_own(folder: Path) -> None:
    with PartialOutput(folder / "o.jsonl", {}, resume=False) as partial:
        assert partial.folder.stat().st_mode & 0o077 == 0
    cache = folder / "tags"
    with TagCache(cache):
        assert cache.stat().st_mode & 0o077 == 0


def test_what_is_written_is_as_private_as_the_user_wants_it(folder: Path) -> None:
    before = os.umask(0o077)
    try:
        write_atomically(folder / "new", b"a")
        os.umask(0o002)
        write_atomically(folder / "shared", b"a")
        (folder / "new").chmod(0o604)
        write_atomically(folder / "new", b"b")
    finally:
        os.umask(before)
    assert (folder / "new").stat().st_mode & 0o777 == 0o604
    assert (folder / "shared").stat().st_mode & 0o777 == 0o664
    os.umask(0o077)
    try:
        write_atomically(folder / "private", b"a")
    finally:
        os.umask(before)
    assert (folder / "private").stat().st_mode & 0o777 == 0o600
    assert not list(folder.glob(".*"))


def partial_of(folder: Path, name: str) -> Path:
    """A stranger's folder of an unfinished run, and a precious file elsewhere."""
    precious = folder / "home"
    precious.mkdir()
    (precious / "manifest.json").write_text("dear", "utf-8")
    (precious / "notes.txt").write_text("dear", "utf-8")
    return folder / name


RUNS = {
    "apply": ("o.jsonl.sears-partial", ("r.sear", "d.csv", "-o", "o.jsonl", "--column", "text",
                                        "--no-cache")),
    "audit": ("audit.partial", COMMANDS["audit"]),
    "fix": ("fix.json.partial", COMMANDS["fix"]),
}  # fmt: skip


@pytest.mark.parametrize("again", [None, "--resume", "--restart"])
@pytest.mark.parametrize("command", RUNS)
@pytest.mark.parametrize("inside", [None, "manifest.json.new", "journal.sqlite3", "lock", "any"])
def test_an_unfinished_run_of_strangers_leads_nowhere(
    folder: Path, command: str, inside: str | None, again: str | None
) -> None:
    name, arguments = RUNS[command]
    place = partial_of(folder, name)
    if inside is None:
        place.symlink_to("home")
    else:
        place.mkdir()
        (place / inside).symlink_to(folder / "home" / "notes.txt")
    if command != "apply" or again != "--restart":
        options = () if again is None else (again,)
        assert_ours(run(command, *arguments, *options), "a link to another place")
    assert (folder / "home" / "notes.txt").read_text("utf-8") == "dear"
    assert (folder / "home" / "manifest.json").read_text("utf-8") == "dear"
    assert len(list((folder / "home").iterdir())) == 2


class Harmful:
    """An object whose pickle runs code when it is read."""

    def __reduce__(self) -> object:
        return Path.touch, (Path("ran"),)


@pytest.mark.parametrize("again", [(), ("--resume",)])
def test_models_that_came_along_are_not_unpickled(folder: Path, again: tuple[str, ...]) -> None:
    place = folder / "fix.json.partial" / "plain-0"
    place.mkdir(parents=True)
    (place / "model").write_bytes(pickle.dumps(Harmful()))
    (place / "trained.json").write_text("{}", "utf-8")
    (place.parent / "mark").write_text("0" * 64, "utf-8")
    assert_ours(run("fix", *COMMANDS["fix"], *again), "a run that you did not start here")
    assert place.exists()


def test_a_mark_is_of_one_folder_and_one_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    own, moved = folder / "own", folder / "moved"
    own.mkdir()
    assert not is_marked(own)
    mark(own)
    assert is_marked(own)
    assert (folder / "data" / "sears" / "key").stat().st_mode & 0o777 == 0o600
    own.rename(moved)
    assert not is_marked(moved)
    moved.rename(own)
    assert is_marked(own)
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "of somebody else"))
    assert not is_marked(own)
    mark(own)
    monkeypatch.setenv("XDG_DATA_HOME", "/dev/null")
    mark(own)
    assert not is_marked(own)
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "torn"))
    (folder / "torn" / "sears").mkdir(parents=True)
    (folder / "torn" / "sears" / "key").touch()  # anybody can sign with it
    signature = hmac.new(b"", os.fsencode(own.resolve()), "sha256").hexdigest()
    (own / "mark").write_text(signature, "ascii")
    assert not is_marked(own)


def test_a_repository_cannot_have_files_written_elsewhere(folder: Path) -> None:
    def git(*arguments: str, given: bytes = b"") -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a", *arguments], input=given,
            capture_output=True, check=True,
        )  # fmt: skip
        return done.stdout.decode().strip()

    git("init", "-q", ".")
    blob = git("hash-object", "-w", "--stdin", given=b"movie -> film\n")
    # As raw objects: git itself makes no such tree.
    entry = b"100644 out.sear\0" + bytes.fromhex(blob)
    inner = git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", given=entry)
    entries = b"40000 ..\0" + bytes.fromhex(inner) + b"100644 r.sear\0" + bytes.fromhex(blob)
    tree = git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", given=entries)
    commit = git("commit-tree", tree, "-m", "a")
    assert_ours(run("diff", f"{commit}:r.sear", "r.sear"), "named '../out.sear'")
    assert_ours(run("diff", "--", "--output=x:r.sear", "r.sear"), "is not a git revision")


def test_a_pipe_in_the_place_of_a_lock_is_reported(folder: Path) -> None:
    for command, (name, arguments) in RUNS.items():
        (folder / name).mkdir()
        os.mkfifo(folder / name / "lock")
        assert_ours(run(command, *arguments), "something that is no file and no folder")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_of_another_account_is_not_taken(folder: Path) -> None:
    for command, (name, arguments) in RUNS.items():
        (folder / name).mkdir()
        os.chown(folder / name, 12345, 12345)
        assert_ours(run(command, *arguments), "it belongs to another account")


def test_what_is_not_of_a_run_stays_in_its_folder(folder: Path) -> None:
    place = folder / "o.jsonl.sears-partial"
    place.mkdir()
    for name in ("notes.txt", "manifest.json", "00000000.part"):
        (place / name).write_text("{}", "utf-8")
    with PartialOutput(folder / "o.jsonl", {}, resume=False) as partial:
        assert {each.name for each in partial.folder.iterdir()} == {
            "lock", "notes.txt", "manifest.json",
        }  # fmt: skip
        partial.put(0, {}, b"")


@pytest.mark.parametrize(
    "part", [b"", b"[]", b"{}\n", b"[" * 100_000, b'{"bytes": 0, "crc32": 0}\n',
             b'{"bytes": 0, "crc32": 0, "counts": 5}\n',
             b'{"bytes": {}, "crc32": [], "counts": {}}\n'], ids=range(7),
)  # fmt: skip
@pytest.mark.parametrize("manifest", [b"{}", b"[]", b"[" * 100_000, b"5", b"\xff"], ids=range(5))
def test_parts_that_are_none_are_not_resumed(folder: Path, manifest: bytes, part: bytes) -> None:
    place = folder / "o.jsonl.sears-partial"
    place.mkdir()
    (place / "manifest.json").write_bytes(manifest)
    (place / "00000000.part").write_bytes(part)
    with PartialOutput(folder / "o.jsonl", {}, resume=True) as partial:
        assert partial.finished == 0


def rewritten(path: Path, *statements: str) -> Path:
    """A SQLite file changed by somebody else."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def test_the_schema_of_a_database_that_came_along_runs_no_functions(folder: Path) -> None:
    with PredictionStore(folder / "p.sqlite3") as store, store.using("read") as connection:
        assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)


@pytest.mark.parametrize(
    "change",
    [
        "label = NULL",
        "label = x'00ff'",
        "label = CAST(x'ff' AS TEXT)",
        "confidence = 'much'",
        "confidence = x'00'",
    ],
)
def test_kept_predictions_are_labels_or_an_error(folder: Path, change: str) -> None:
    path = folder / "predictions.sqlite3"
    with PredictionStore(path) as store:
        store.put("m", {"0a": "yes"})
    rewritten(path, f"UPDATE predictions SET {change}")  # noqa: S608
    with PredictionStore(path) as store, pytest.raises(CacheError, match="could not be read"):
        store.get("m", ["0a"])


@pytest.mark.parametrize("value", ["", "[" * 100_000, "5", "null", '{"a": 1}', '["a", 5]', '"a"'])
def test_a_journal_holds_paraphrases_or_is_reported(folder: Path, value: str) -> None:
    class Mute:
        def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
            return [[] for _ in sentences]

    with RunJournal(folder / "journal.sqlite3", task="t") as journal:
        journal.put_many("paraphrases", {"a": ["b"]})
        with journal._connection as connection:
            connection.execute("UPDATE findings SET value = ?", (value,))
        with pytest.raises(DataError, match="the journal of the run cannot be used"):
            remembered_paraphrases(Mute(), ["a"], journal)


@pytest.mark.parametrize("value", ['"1.0"', "[]", "null", "{}", "[" * 100_000])
def test_a_journal_holds_scores_or_is_reported(folder: Path, value: str) -> None:
    class Half:
        name, identity, tau = "half", "half", 0.5

        def scores(self, pairs: Any) -> Any:
            return np.full(len(pairs), 0.5)

        def at_least(self, pairs: Any, tau: float) -> Any:
            return self.scores(pairs) >= tau

    with RunJournal(folder / "journal.sqlite3", task="t") as journal:
        RememberedScorer(Half(), journal).scores([("a", "b")])
        with journal._connection as connection:
            connection.execute("UPDATE findings SET value = ?", (value,))
        with pytest.raises(DataError, match="the journal of the run cannot be used"):
            RememberedScorer(Half(), journal).scores([("a", "b")])


@pytest.mark.parametrize(
    "cells",
    [
        [[0, 50, 1]],
        [[2**31, 2**31 + 1, 1]],
        [[4, 2, 1]],
        [[0, 4, 1], [2, 6, 1]],
        [[4, 6, 1], [0, 3, 1]],
        [[0, 1, 2**31]],
    ],
)
def test_cached_tokens_lie_in_their_text_or_the_cache_is_damaged(
    folder: Path, cells: list[list[int]]
) -> None:
    texts, tagger = ["some text"], load_tagger("fast")
    with TagCache(folder / "tags") as cache:
        cache.put_many("t", "1", tagger.tag(texts))
        assert cache.get_many("t", "1", texts)[0].all()
    blob = np.array(cells, "<u4").tobytes()
    with closing(sqlite3.connect(folder / "tags" / "tags.sqlite3")) as connection:
        connection.execute("UPDATE texts SET tokens = ?, checksum = ?", (blob, zlib.crc32(blob)))
        connection.commit()
    with TagCache(folder / "tags") as cache, pytest.raises(CacheError, match="damaged"):
        cache.get_many("t", "1", texts)


# ---------------------------------------------------------------- data and reports

SQUAD: dict[str, Any] = {
    "version": "1.1",
    "data": [{"title": "t", "paragraphs": [{
        "context": "a film is here",
        "qas": [{"id": "1", "question": "what film ?",
                 "answers": [{"text": "film", "answer_start": 2}]}],
    }]}],
}  # fmt: skip
VALUES: list[Any] = [None, 5, float("inf"), "x", [], {}, [[]], [None], True, -1, 2**70]


def places(value: Any, *way: Any) -> Iterator[tuple[Any, ...]]:
    """The way to every part of a document."""
    if way:
        yield way
    parts = value if isinstance(value, dict) else range(len(value))
    for name in parts:
        if isinstance(value[name], dict | list):
            yield from places(value[name], *way, name)
        else:
            yield (*way, name)


@pytest.mark.parametrize("way", list(places(SQUAD)), ids=str)
def test_squad_with_anything_in_any_place_is_read_or_reported(
    folder: Path, way: tuple[Any, ...]
) -> None:
    (folder / "w.sear").write_text("film -> movie\n", "utf-8")
    for value in VALUES:
        document = copy.deepcopy(SQUAD)
        place = document
        for name in way[:-1]:
            place = place[name]
        place[way[-1]] = value
        (folder / "s.json").write_text(json.dumps(document), "utf-8")
        done = run("apply", "w.sear", "s.json", "-o", "o.json", "--column", "context", "--mode",
                   "chain", "--no-cache", "--quiet")  # fmt: skip
        if done.exception is not None:
            assert_ours(done)


RUBBISH: dict[str, bytes] = {
    "a.csv": b"\x00\xff",
    "b.csv": b'"' * 50 + b"\n",
    "c.json": b"[" * 100_000,
    "d.json": b'[{"text":' + b"[" * 100_000,
    "e.jsonl": b'{"text":' + b"[" * 100_000 + b"\n",
    "f.parquet": b"PAR1" + b"\x00" * 100 + b"PAR1",
    "g.arrow": b"ARROW1\0\0" + b"\xff" * 64,
    "h.csv.gz": b"\x1f\x8b" + b"\x00" * 20,
    "i.tsv": b"a\tb\n\xff",
    "k.parquet": b"",
}


@pytest.mark.parametrize("name", RUBBISH)
def test_rubbish_as_data_is_reported(folder: Path, name: str) -> None:
    (folder / name).write_bytes(RUBBISH[name])
    arguments = ("r.sear", name, "-o", "o.jsonl", "--column", "text", "--no-cache")
    assert_ours(run("apply", *arguments), name)


AUDITS = [b"{}", b"[]", b"[" * 100_000, b'{"format": "sears-audit", "version": 1}', b"\xff", b""]


@pytest.mark.parametrize("content", AUDITS, ids=range(6))
def test_what_is_no_audit_is_reported(folder: Path, content: bytes) -> None:
    (folder / "a.json").write_bytes(content)
    assert_ours(run("compare", "a.json", "b.json"), "a.json is not an audit")
    os.unlink("a.json")
    os.mkfifo("a.json")
    assert_ours(run("compare", "a.json", "b.json"), "not a regular file")


def test_weights_of_the_fast_tagger_are_arrays_or_reported(folder: Path) -> None:
    path = folder / "weights.npz"
    for parts in ({}, {"about": np.frombuffer(b"[]", np.uint8)},
                  {"about": np.array([Harmful()], object)}):  # fmt: skip
        content = io.BytesIO()
        np.savez(content, **parts)
        body = content.getvalue()[:-2]
        digest = weights._digest(body).encode()
        path.write_bytes(body + len(digest).to_bytes(2, "little") + digest)
        with pytest.raises(TaggerError):
            weights.load(path)
    path.write_bytes(b"")
    with pytest.raises(TaggerError, match="damaged"):
        weights.load(path)


# ---------------------------------------------------------------- journals of reviewers


ENTRIES: list[dict[str, Any]] = [
    {"kind": "reject", "rule": "r", "reason": {"a": 1}, "note": ""},
    {"kind": "reject", "rule": "r", "reason": "meaning", "note": ["a"]},
    {"kind": "accept", "rule": ["r"]},
    {"kind": "accept", "rule": "r", "shown": "ab"},
    {"kind": "accept", "rule": "r", "shown": 5},
    {"kind": "edit", "rule": "r", "new": None},
    {"kind": "pick", "original": "a", "shown": [1], "choice": None},
    {"kind": "pick", "original": "a", "shown": "b", "choice": None},
    {"kind": "pick", "original": "a", "shown": [], "choice": 5},
    {"kind": "pair", "original": "a", "rewritten": "b", "same": "yes"},
    {"kind": "undo", "undone": "1"},
    {"kind": "os:abort"},
]


@pytest.mark.parametrize("content", ENTRIES, ids=str)
def test_entries_of_the_wrong_kind_are_reported(folder: Path, content: dict[str, Any]) -> None:
    vetting_journal(folder)
    path = folder / "r.me.vetting.jsonl"
    header = path.read_text("utf-8")
    line = {
        "n": 1, "time": "2026-11-21T17:30:00Z", "reviewer": "me",
        "ruleset": json.loads(header)["ruleset"]["sha256"][:12], **content,
    }  # fmt: skip
    path.write_text(header + json.dumps(line) + "\n", "utf-8")
    assert_ours(run("vetted", "r.sear", path.name, "-o", "v.sear"), "of the journal is not valid")
    assert not (folder / "v.sear").exists()


def test_a_note_cannot_become_a_rule(folder: Path) -> None:
    ruleset = load("r.sear")
    with vetting.Journal(folder / "j.jsonl", ruleset=ruleset, reviewer="me") as journal:
        note = "bad\nmovie -> evil\u2028a -> b\rc -> d"
        rule = ruleset.rule_ids[0]
        journal.append("reject", {"rule": rule, "text": "", "reason": "other", "note": note})
    done = run("vetted", "r.sear", "j.jsonl", "-o", "v.sear")
    assert done.exception is None
    left = load("v.left-out.sear")
    assert [rule.antecedent for rule in left.rules] == [rule.antecedent for rule in ruleset.rules]


@pytest.mark.parametrize("content", [b"[" * 100_000 + b"\n", b"{}\n", b"\xff\n", b"5\n"], ids=str)
def test_what_is_no_journal_is_reported(folder: Path, content: bytes) -> None:
    (folder / "j.jsonl").write_bytes(content)
    assert_ours(run("vetted", "r.sear", "j.jsonl"), "is not a journal of sears vet")
    os.unlink("j.jsonl")
    os.mkfifo("j.jsonl")
    assert_ours(run("vetted", "r.sear", "j.jsonl"), "not a regular file")
    with pytest.raises(DataError, match="not a regular file"):
        vetting.Journal(folder / "j.jsonl", ruleset=load("r.sear"), reviewer="me")
