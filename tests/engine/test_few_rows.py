"""One text at a time gives what many at once give, with all shipped rules."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

import sears_dsl
from sears_dsl.catalogue import shipped
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.language.loader import load

SAMPLE = Path(sears_dsl.__file__).parent / "discovery" / "filtering" / "english_text.txt.gz"


@pytest.mark.parametrize("scope", ["first", "all"])
def test_one_by_one_is_as_all_at_once(scope: str) -> None:
    names = [name for name in shipped() if not name.startswith(("noise/", "paper/"))]
    matcher = compile_rules([load(shipped()[name]) for name in names])
    texts = gzip.decompress(SAMPLE.read_bytes()).decode().splitlines()[:1600:16]
    unrenderable: Counter[int] = Counter()
    single = []
    for row, text in enumerate(texts):
        done = matcher.apply([text], scope=scope)  # type: ignore[arg-type]
        single += [rewrite._replace(row=row) for rewrite in done]
        unrenderable.update(done.unrenderable)
    many = matcher.apply(texts, scope=scope)  # type: ignore[arg-type]
    assert single == list(many)
    assert unrenderable == many.unrenderable
    assert len(single) > len(texts) / 2
