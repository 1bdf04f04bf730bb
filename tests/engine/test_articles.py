"""Which article a word needs, and that articles change only at an edit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.engine.matches import Edit, apply_edits
from sears_dsl.engine.rewrite.placing import agree_articles, wants_an

WITH_AN = """
apple old hour honest honour heirloom uncle umbrella unimportant uninteresting
unidentified under usher utter urban ugly onion only FBI MRI HTML MP3 X-ray 8 80 11 18
18000 élan L e x
"""
WITH_A = """
film house union unit unique university unanimous use user usual useful utensil utopia
European eulogy ewe ubiquitous ukulele uranium one ones once
oneself ouija NASA UFO USB 1 10 100 110 yes J u year
"""


@pytest.mark.parametrize("word", WITH_AN.split())
def test_words_with_an(word: str) -> None:
    assert wants_an(word.split("-", maxsplit=1)[0])


@pytest.mark.parametrize("word", WITH_A.split())
def test_words_with_a(word: str) -> None:
    assert not wants_an(word)


def test_a_shout_is_no_acronym() -> None:
    assert not wants_an("HOT", shout=True)
    assert wants_an("OLD", shout=True)


@given(
    st.text("aAn \"xb(.,'", max_size=20), st.integers(0, 20), st.integers(0, 20), st.text("an ob")
)
def test_nothing_but_articles_changes(text: str, start: int, end: int, new: str) -> None:
    start, end = sorted((min(start, len(text)), min(end, len(text))))
    edit = Edit(start, end, text[start:end], new)
    wider = agree_articles(text, edit, limit=0)
    assert wider.start <= edit.start
    assert wider.end == edit.end
    assert text[wider.start : wider.end] == wider.old
    plain, repaired = (apply_edits(text, [each]) for each in (edit, wider))
    assert plain[len(plain) - len(text) + end :] == repaired[len(repaired) - len(text) + end :]
    left, right = (row.lower().replace("an", "a") for row in (plain, repaired))
    assert left == right
    assert agree_articles(text, edit, limit=start).start == start
