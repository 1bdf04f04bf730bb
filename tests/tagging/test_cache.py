"""The tag cache gives the same tokens as none, whoever reads, writes, dies or damages it."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line import call
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.errors import CacheError, TaggerError
from sears_dsl.tagging.cache import CachedTagger, TagCache
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tagger import Tagger, load_tagger
from sears_dsl.tagging.tokens import Token, Tokens

TAGS = {"is": ("AUX", "VBZ"), "it": ("PRON", "PRP"), "red": ("ADJ", "JJ"), ".": ("PUNCT", ".")}


class CountingTagger(PinnedTagger):
    """A tagger that records what it was asked to tag."""

    def __init__(self, version: str = "1") -> None:
        super().__init__(TAGS)
        self.asked: list[str] = []
        self._version = version

    @property
    def version(self) -> str:
        return self._version

    def tag(self, texts: Sequence[str]) -> Tokens:
        self.asked.extend(texts)
        return super().tag(texts)


def rows_of(tokens: Tokens) -> list[list[Token]]:
    return [tokens.row(row) for row in range(len(tokens))]


# ---------------------------------------------------------------- what is kept

texts = st.lists(
    st.one_of(
        st.text(max_size=20), st.sampled_from(["It is red.", "is it", "", "  ", "\ud800 is"])
    ),
    max_size=8,
)


@settings(max_examples=40)
@given(st.lists(texts, max_size=3))
def test_tokens_are_those_of_the_tagger(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[str]]
) -> None:
    with TagCache(tmp_path_factory.mktemp("cache")) as cache:
        cached = CachedTagger(PinnedTagger(TAGS), cache)
        for batch in [*batches, *batches]:
            found = cached.tag(batch)
            assert rows_of(found) == rows_of(PinnedTagger(TAGS).tag(batch))
            assert list(found.texts) == batch
            assert len(set(found.types)) == len(found.types)


def test_a_text_is_tagged_once(tmp_path: Path) -> None:
    tagger = CountingTagger()
    with TagCache(tmp_path) as cache:
        CachedTagger(tagger, cache).tag(["is it red", "it is", "is it red"])
        CachedTagger(tagger, cache).tag(["it is", "red", "is it red"])
    with TagCache(tmp_path) as cache:
        CachedTagger(tagger, cache).tag(["red"])
    assert tagger.asked == ["is it red", "it is", "red"]


def test_another_version_of_a_tagger_tags_anew(tmp_path: Path) -> None:
    old, new = CountingTagger("1"), CountingTagger("2")
    with TagCache(tmp_path) as cache:
        CachedTagger(old, cache).tag(["it is"])
        CachedTagger(new, cache).tag(["it is"])
        assert new.asked == ["it is"]
        assert cache.info().taggers == {"pinned (1)": 1, "pinned (2)": 1}


def test_a_cached_tagger_is_the_tagger_otherwise(tmp_path: Path) -> None:
    with TagCache(tmp_path) as cache:
        tagger = PinnedTagger(TAGS)
        cached = CachedTagger(tagger, cache)
        assert isinstance(cached, Tagger)
        assert (cached.name, cached.version, cached.language) == ("pinned", tagger.version, "en")
        assert rows_of(cached.tokenize(["It is."])) == rows_of(tagger.tokenize(["It is."]))
        assert cached.split("it's") == ("it", "'s")
        assert cached.sentences(["It is. Is it?"]) == [[(0, 6), (7, 13)]]


def test_taggers_are_loaded_with_a_cache(tmp_path: Path) -> None:
    with TagCache(tmp_path) as cache:
        assert isinstance(load_tagger("pinned", cache=cache), PinnedTagger)
        own = load_tagger("sears_dsl.tagging.pinned:PinnedTagger", cache=cache)
        own.tag(["it is"])
        assert cache.info().entries == 1


def test_pinned_tags_never_stand_for_a_plain_text(tmp_path: Path) -> None:
    with TagCache(tmp_path) as cache:
        cached = CachedTagger(PinnedTagger(), cache)
        with pytest.raises(TaggerError, match="other texts"):
            cached.tag(["color/NOUN/NN"])
        assert cached.tag(["color"]).row(0) == [Token("color", "", "", 0, 5)]


def test_no_text_is_in_the_file(tmp_path: Path) -> None:
    with TagCache(tmp_path) as cache:
        CachedTagger(PinnedTagger(TAGS), cache).tag(["the password is swordfish"])
    assert b"swordfish" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


# ---------------------------------------------------------------- its size and place


def test_info_and_clear(tmp_path: Path) -> None:
    with TagCache(tmp_path) as cache:
        assert cache.info().entries == 0
        CachedTagger(CountingTagger("1"), cache).tag(["it is", "is it"])
        info = cache.info()
        assert (info.path, info.entries) == (tmp_path / "tags.sqlite3", 2)
        assert info.bytes >= info.path.stat().st_size > 0
        cache.clear("another")
        assert cache.info().entries == 2
        cache.clear("pinned")
        assert cache.info().taggers == {}
        CachedTagger(CountingTagger("1"), cache).tag(["it is"])
        cache.clear()
        assert cache.info().entries == 0


def test_a_full_cache_drops_what_was_stored_first(tmp_path: Path) -> None:
    tagger = CountingTagger()
    with TagCache(tmp_path, max_bytes=400_000) as cache:
        cached = CachedTagger(tagger, cache)
        for k in range(40):
            cached.tag([f"{k} {n} " + "is it red " * 20 for n in range(25)])
            time.sleep(0.002)  # the clock that orders entries counts milliseconds
        asked = len(tagger.asked)
        cached.tag([f"39 {n} " + "is it red " * 20 for n in range(25)])
        assert len(tagger.asked) == asked
        cached.tag([f"0 {n} " + "is it red " * 20 for n in range(25)])
        assert len(tagger.asked) == asked + 25
    assert cache.path.stat().st_size < 600_000


def test_the_environment_says_where(tmp_path: Path) -> None:
    code = "from sears_dsl.tagging.cache import TagCache; print(TagCache().path)"
    environment = {**os.environ, "SEARS_CACHE": str(tmp_path / "here")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert Path(done.stdout.strip()) == tmp_path / "here" / "tags.sqlite3"
    assert (tmp_path / "here" / "tags.sqlite3").exists()


# ---------------------------------------------------------------- several processes


def _fill(folder: Path, worker: int) -> None:
    with TagCache(folder) as cache:
        tagger = CachedTagger(PinnedTagger(TAGS), cache)
        for k in range(20):
            tagger.tag([f"{worker} is it {k} {n}" for n in range(20)] + [f"shared {k} is red"])


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(tmp_path, k)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=600)
        assert worker.exitcode == 0
    with TagCache(tmp_path) as cache:
        assert cache.info().entries == 4 * 20 * 20 + 20
        tagger = CountingTagger(PinnedTagger(TAGS).version)
        batch = [f"3 is it {k} {k}" for k in range(20)]
        assert rows_of(CachedTagger(tagger, cache).tag(batch)) == rows_of(
            PinnedTagger(TAGS).tag(batch)
        )
        assert tagger.asked == []


WRITER = """
import itertools, sys
from pathlib import Path
from sears_dsl.tagging.cache import CachedTagger, TagCache
from sears_dsl.tagging.pinned import PinnedTagger
tagger = CachedTagger(PinnedTagger(), TagCache(Path(sys.argv[1])))
for k in itertools.count():
    tagger.tag([f"is it {k} {n}" for n in range(500)])
    print(k, flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_killed_writer_leaves_what_it_wrote(tmp_path: Path) -> None:
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE
        )
        with writer:
            assert writer.stdout is not None
            written = [int(writer.stdout.readline()) for _ in range(5)]
            writer.send_signal(signal.SIGKILL)
        assert written == list(range(5))
        tagger = CountingTagger(PinnedTagger().version)
        with TagCache(tmp_path) as cache:
            CachedTagger(tagger, cache).tag(
                [f"is it {k} {n}" for k in range(5) for n in range(500)]
            )
        assert tagger.asked == []


def test_a_cache_goes_to_another_process_by_its_place(tmp_path: Path) -> None:
    with TagCache(tmp_path) as cache:
        CachedTagger(PinnedTagger(), cache).tag(["it is"])
        with pickle.loads(pickle.dumps(cache)) as copy:  # noqa: S301 - written a moment ago
            assert copy.info().entries == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_opens_the_file_itself(tmp_path: Path) -> None:
    code = f"""
import os
from pathlib import Path
from sears_dsl.tagging.cache import CachedTagger, TagCache
from sears_dsl.tagging.pinned import PinnedTagger
cache = TagCache(Path({str(tmp_path)!r}))
tagger = CachedTagger(PinnedTagger(), cache)
tagger.tag(["before"])
of_parent = cache._connection
child = os.fork()
tagger.tag(["in the child" if child == 0 else "in the parent"])
assert (cache._connection is of_parent) == bool(child)
if child:
    assert os.waitpid(child, 0)[1] == 0
    print(cache.info().entries)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "3\n"


# ---------------------------------------------------------------- what cannot be used


def _written(folder: Path) -> Path:
    with TagCache(folder) as cache:
        CachedTagger(PinnedTagger(TAGS), cache).tag([f"it is {k} red" for k in range(500)])
        return cache.path


def _refused(folder: Path, message: str) -> None:
    with pytest.raises(CacheError, match=message) as caught, TagCache(folder) as cache:
        CachedTagger(PinnedTagger(TAGS), cache).tag([f"it is {k} red" for k in range(500)])
    assert "sears cache clear" in caught.value.help


def test_another_version_of_the_format_is_refused(tmp_path: Path) -> None:
    path = _written(tmp_path)
    for version in (0, 2, 99):
        with sqlite3.connect(path) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        connection.close()
        _refused(tmp_path, "written by another version of sears")
    assert TagCache.remove(tmp_path) == path
    with TagCache(tmp_path) as cache:
        assert cache.info().entries == 0


def test_the_file_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "tags.sqlite3")
    connection.execute("CREATE TABLE precious (x)")
    connection.close()
    before = (tmp_path / "tags.sqlite3").read_bytes()
    _refused(tmp_path, "not a tag cache of sears")
    assert (tmp_path / "tags.sqlite3").read_bytes() == before


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tags.sqlite3").write_bytes(b"something else altogether" * 1_000)
    _refused(tmp_path, "damaged")
    TagCache.remove(tmp_path)
    _written(tmp_path)


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = _written(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    _refused(tmp_path, "damaged")
    TagCache.remove(tmp_path)
    _written(tmp_path)


def test_damaged_tags_are_never_misread(tmp_path: Path) -> None:
    path = _written(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE texts SET tokens = zeroblob(length(tokens))")
    connection.close()
    _refused(tmp_path, "damaged")


def test_tags_without_a_meaning_are_never_misread(tmp_path: Path) -> None:
    path = _written(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM tag_pairs WHERE coarse = 'ADJ'")
    connection.close()
    _refused(tmp_path, "damaged")


def test_a_folder_that_cannot_be_made_is_an_error_with_help(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CacheError, match="cannot create the folder") as caught:
        TagCache(tmp_path / "file" / "cache")
    assert "--no-cache" in caught.value.help


def test_a_place_that_cannot_be_written_is_an_error_with_help(tmp_path: Path) -> None:
    (tmp_path / "tags.sqlite3").mkdir()
    with pytest.raises(CacheError, match="could not be opened") as caught:
        TagCache(tmp_path)
    assert "--no-cache" in caught.value.help


FILLER = """
import resource, sys
from pathlib import Path
from sears_dsl.errors import CacheError
from sears_dsl.tagging.cache import CachedTagger, TagCache
from sears_dsl.tagging.pinned import PinnedTagger
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
tagger = CachedTagger(PinnedTagger(), TagCache(Path(sys.argv[1])))
done = 0
try:
    for k in range(1_000):
        tagger.tag([f"{k} {n} " + "is it red " * 20 for n in range(100)])
        done += 1
except CacheError as error:
    print(done, "--no-cache" in error.help)
"""


def test_a_full_disk_is_an_error_that_loses_nothing(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="files cannot be limited here")
    done = subprocess.run(
        [sys.executable, "-c", FILLER, str(tmp_path)], capture_output=True, text=True, check=True
    )
    steps, helped = done.stdout.split()
    assert helped == "True"
    with TagCache(tmp_path) as cache:
        assert cache.info().entries == 100 * int(steps) > 0


def test_removing_a_cache_under_a_reader_misleads_nobody(tmp_path: Path) -> None:
    first, second = PinnedTagger(TAGS), PinnedTagger({"is": ("VERB", "VB"), "it": ("X", "FW")})
    cache = TagCache(tmp_path)
    CachedTagger(first, cache).tag(["it is red ."])
    assert rows_of(CachedTagger(first, cache).tag(["it is red ."]))
    cache.close()
    for file in tmp_path.iterdir():
        file.unlink()
    with TagCache(tmp_path) as other:
        CachedTagger(second, other).tag(["is it"])
    assert rows_of(CachedTagger(second, cache).tag(["is it"])) == rows_of(second.tag(["is it"]))
    cache.close()


def test_removing_what_is_not_there_is_fine(tmp_path: Path) -> None:
    assert TagCache.remove(tmp_path / "none") == tmp_path / "none" / "tags.sqlite3"
    assert not (tmp_path / "none").exists()


# ---------------------------------------------------------------- taggers that need none


def test_the_fast_tagger_needs_no_folder_that_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.sear").write_text("What NOUN -> Which NOUN\n")
    (tmp_path / "rows.csv").write_text("text,label\nWhat color is it?,x\n")
    (tmp_path / "nowhere").touch()
    monkeypatch.setenv("SEARS_CACHE", str(tmp_path / "nowhere" / "here"))
    for command in (
        "apply a.sear rows.csv -o out.csv --column text",
        "augment a.sear rows.csv -o out.csv --column text --label label",
        "diff a.sear a.sear --on rows.csv --column text",
    ):
        done = call(*command.split(), folder=tmp_path)
        assert done.returncode == 0, done.stderr
    own = ("--tagger", "sears_dsl.tagging.pinned:PinnedTagger")
    done = call(
        *["apply", "a.sear", "rows.csv", "-o", "out.csv", "--column", "text"], *own, folder=tmp_path
    )
    assert done.returncode == 2
    assert "--no-cache" in done.stderr
