"""Rewordings by a language model: lists lose their marks and headings, sentences keep theirs."""

from __future__ import annotations

import pytest
from chat_endpoint import chat_endpoint

from sears_dsl.paraphrasing.prompted import PromptedParaphraser


@pytest.mark.parametrize(
    ("sentence", "answer", "rewordings"),
    [
        ("A movie.", 'Here are two:\n\n1. A film.\n- "A picture."', ["A film.", "A picture."]),
        ('"A great movie."', '"A great film."', ['"A great film."']),
        (
            "He called it great.",
            '"Fine," he said, but he meant "great"\n"It is great."\n\'It\'s so.\'',
            ['"Fine," he said, but he meant "great"', "It is great.", "It's so."],
        ),
        (
            "It is empty.",
            "'The dogs' bowl is empty.'\n\"A 5'10\" man has emptied it.\"",
            ["The dogs' bowl is empty.", "A 5'10\" man has emptied it."],
        ),
        ("He said:", "He stated:\nHe told us:", ["He stated:", "He told us:"]),
        ("He said:", "Here are two:\n1. He stated:\n2. He told us:", ["He stated:", "He told us:"]),
        ("- a great movie", "- a great film", ["- a great film"]),
        ("- a great movie", "1. - a great film", ["- a great film"]),
        ("- a good film", "- - a great film\n- a fine film", ["- a great film", "- a fine film"]),
        ("- a good film", "Some:\n- a great film", ["- a great film"]),
        ("1. A movie.", "1. A film.", ["1. A film."]),
        ("1. A movie.", "1. A film.\n2. A picture.", ["A film.", "A picture."]),
        ("1. A movie.", "1. 1. A film.\n2. 1. A picture.", ["1. A film.", "1. A picture."]),
    ],
)
def test_what_the_sentence_has_itself_stays(
    sentence: str, answer: str, rewordings: list[str]
) -> None:
    with chat_endpoint() as endpoint:
        endpoint.answer = lambda number, prompt: answer
        source = PromptedParaphraser(endpoint.settings(prompt=None, labels=None))
        assert source.paraphrase([sentence]) == [rewordings]
