"""Tagging in several processes.

In: groups of texts. Out: their `Tokens`, in order, as one process would give them.
Always holds: what `runtime.processes` says of its processes. Costs a start of a second or two, a
copy of the model for each process, and a copy of the texts and arrays through a pipe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sears_dsl.errors import TaggerError
from sears_dsl.runtime.processes import Children
from sears_dsl.tagging.tokens import Tokens

__all__ = ["Workers", "tagging"]


class Workers:
    """Processes that tag with one spaCy model; they end with this object or this process.

    Args:
        model: an installed package or a folder.
        jobs: how many processes.
    """

    def __init__(self, model: str, *, jobs: int) -> None:
        ready = f"{__name__}:{tagging.__name__}"
        self._children = Children(ready, (model,), jobs=jobs, error=TaggerError, doing="tags")

    def tag(self, groups: Sequence[Sequence[str]]) -> list[Tokens]:
        """The tokens of each group of texts.

        Raises:
            TaggerError: a process failed or died. All of them are ended then.
        """
        answers: list[Tokens] = self._children.ask([list(group) for group in groups])
        # The texts are not sent back: they are here.
        return [replace(tokens, texts=group) for tokens, group in zip(answers, groups, strict=True)]

    def close(self) -> None:
        """End the processes; what they are doing is dropped."""
        self._children.close()


def tagging(model: str) -> Callable[[Sequence[str]], Tokens]:
    """Make a process ready to tag."""
    from sears_dsl.tagging.spacy.spacy_tagger import SpacyTagger  # noqa: PLC0415 - in children only

    tagger = SpacyTagger(model)
    return lambda texts: replace(tagger.tag(texts), texts=())
