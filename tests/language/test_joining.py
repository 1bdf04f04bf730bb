"""Joining rulesets: the rules of both, in a file that says the same when it is read again."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from sears_dsl.errors import UsageError
from sears_dsl.language.loader import load
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger

TAGGER = PinnedTagger()
TEXTS = ["bad x", "good x", "fine x", "movie"]


def rewrites(ruleset: Ruleset) -> list[tuple[int, str]]:
    matcher = ruleset.compile(tagger=TAGGER)
    return [(each.row, each.text) for each in matcher.apply(TEXTS)]


def write(folder: Path, **files: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.sear").write_text(text, "utf-8")


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Three folders; in each, files of one name that say something else."""
    places = [tmp_path / name for name in ("one", "other", "third")]
    for place, word in zip(places, ("bad", "good", "fine"), strict=True):
        inner = f"set W = {word}\n"
        common = 'import "inner.sear" as i\nset W = @i.W\n'
        importing = f'import "common.sear" as {word}\nrule {word}: @{word}.W x -> y\n'
        write(place, inner=inner, common=common, plain="movie -> film\n", importing=importing)
    return places


def test_a_saved_ruleset_rewrites_the_same_or_is_refused(folders: list[Path]) -> None:
    """Whatever is joined, and whatever file of whatever folder it is saved as."""
    names = ("plain", "importing", "new", "common", "inner")
    saved = 0
    for one, other, to in product(folders, repeat=3):
        joined = load(one / "importing.sear") + load(other / "plain.sear")
        if one != other:
            joined = load(other / "plain.sear") + joined + load(one / "plain.sear")
        wanted = rewrites(joined)
        assert wanted
        for name in names:
            file = to / f"{name}.sear"
            before = file.read_text("utf-8") if file.exists() else None
            try:
                joined.save(file)
            except UsageError:
                assert to != one or name in {"common", "inner"}
                continue
            assert rewrites(load(file)) == wanted
            saved += 1
            if before is None:
                file.unlink()
            else:
                file.write_text(before, "utf-8")
    assert saved == 3 * 3 * 3


def test_where_a_ruleset_with_imports_can_be_saved_is_said(folders: list[Path]) -> None:
    one, other, third = folders
    joined = load(one / "plain.sear") + load(other / "importing.sear")
    with pytest.raises(
        UsageError, match=rf"imports common\.sear of {other}, which is not"
    ) as caught:
        joined.save(one / "joined.sear")
    assert f"write it to {other}" in str(caught.value)
    with pytest.raises(UsageError, match=r"inner\.sear is imported by the ruleset"):
        joined.save(other / "inner.sear")
    with pytest.raises(UsageError, match=f"lie in {other} and {third}: copy them to one folder"):
        (joined + load(third / "importing.sear")).save(other / "joined.sear")


def test_a_ruleset_is_saved_beside_its_imports_wherever_the_program_moves(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, _ = folders
    monkeypatch.chdir(one)
    rules = load("importing.sear")
    monkeypatch.chdir(other)
    with pytest.raises(UsageError, match=f"write it to {one}"):
        rules.save("new.sear")
    rules.save(one / "new.sear")
    assert rewrites(load(one / "new.sear")) == rewrites(rules)
