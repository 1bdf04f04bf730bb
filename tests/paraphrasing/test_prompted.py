"""Rewordings by a language model: marks, quotes and colons of the sentence itself stay."""

from __future__ import annotations

import pytest
from chat_endpoint import chat_endpoint

from sears_dsl.paraphrasing.prompted import PromptedParaphraser


@pytest.mark.parametrize(
    ("sentence", "answer", "rewordings"),
    [
        ("A movie.", 'Here are two:\n\n1. A film.\n- "A picture."', ["A film.", "A picture."]),
        ('"A great movie."', '"A great film."', ['"A great film."']),
        ("He said:", "He stated:\n- He told us:", ["He stated:", "He told us:"]),
        ("- a great movie", "- a great film", ["- a great film"]),
        ("- a great movie", "1. - a great film", ["- a great film"]),
        ("2. A movie.", "2. A film.\n3. A picture.", ["2. A film.", "A picture."]),
    ],
)
def test_what_the_sentence_has_itself_stays(
    sentence: str, answer: str, rewordings: list[str]
) -> None:
    with chat_endpoint() as endpoint:
        endpoint.answer = lambda number, prompt: answer
        source = PromptedParaphraser(endpoint.settings(prompt=None, labels=None))
        assert source.paraphrase([sentence]) == [rewordings]
