"""Changes as people see them: the changed words, without their surroundings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.engine.matches import Edit
from sears_dsl.engine.rewrite.rewrites import marked_html, narrow_edit, pieces

words = st.text("ab c", max_size=12)


def applied(text: str, edit: Edit) -> str:
    return text[: edit.start] + edit.new + text[edit.end :]


@given(words, words, words, words)
def test_a_narrowed_edit_makes_the_same_text(before: str, old: str, new: str, after: str) -> None:
    text, edit = before + old + after, Edit(len(before), len(before + old), old, new)
    small = narrow_edit(edit)
    assert applied(text, small) == applied(text, edit)
    assert text[small.start : small.end] == small.old
    assert len(small.old) <= len(old)
    # What is left has no blank on either side.
    for end in (0, -1):
        if small.old and small.new:
            assert not (small.old[end] == small.new[end] == " ")


@given(words, words, words, words)
def test_kept_and_removed_pieces_are_the_text(before: str, old: str, new: str, after: str) -> None:
    text = before + old + after
    edit = Edit(len(before), len(before + old), old, new)
    found = list(pieces(text, [edit]))
    told = "".join(each.text for each in found if each.kind != "new")
    small = narrow_edit(edit)
    if small.old.strip() or not small.new.strip():
        assert told == text
    else:  # the blank that comes with an inserted word is next to it
        assert told.replace(" ", "") == text.replace(" ", "")
    assert all(each.text for each in found)


@pytest.mark.parametrize(
    ("text", "edit", "wanted"),
    [("A movie.", Edit(1, 7, " movie", " film"), "A <del>movie</del><ins>film</ins>."),
     ("a really good film", Edit(2, 9, "really ", ""), "a <del>really</del> good film"),
     ("a really good film", Edit(1, 8, " really", ""), "a <del>really</del> good film"),
     ("a good film", Edit(2, 2, "", "really "), "a <ins>really</ins> good film"),
     ("What color is it", Edit(0, 10, "What color", "Which color"),
      "<del>What</del><ins>Which</ins> color is it"),
     ("a great, fun film", Edit(2, 8, "great,", "big,"),
      "a <del>great</del><ins>big</ins>, fun film"),
     ("Is it?", Edit(3, 6, "it?", "it??"), "Is it?<ins>?</ins>"),
     # Characters that look the same are shown by their code points.
     ("a film", Edit(0, 1, "a", "\u0430"),
      "<del>a</del><ins>\u0430</ins> <small>\u0430 U+0430</small> film"),
     ("\u0430 film", Edit(0, 1, "\u0430", "a"),
      "<del>\u0430</del><ins>a</ins> <small>a U+0061</small> film"),
     # If only the blank changes, it is marked.
     ("it is not", Edit(5, 9, " not", "n't"), "it is<del> not</del><ins>n&#x27;t</ins>"),
     ("a  b", Edit(1, 2, " ", ""), "a<del> </del> b")],
)  # fmt: skip
def test_marks_leave_out_the_blank_beside_the_change(text: str, edit: Edit, wanted: str) -> None:
    assert marked_html(text, [edit]) == wanted
