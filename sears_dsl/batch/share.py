"""A share of the texts: each decides for itself whether rules may rewrite it.

In: a share, a seed, a text. Out: yes or no. Always holds: the text alone decides, not its row, its
file or the texts beside it, so equal texts decide alike and any order, part or number of processes
gives the same; what a share takes, every greater share takes too.
"""

from __future__ import annotations

from dataclasses import dataclass

from sears_dsl.engine.noise.draws import Draw, below, number
from sears_dsl.errors import UsageError
from sears_dsl.language.amounts import WHOLE, print_share, read_share

# What the number of a text decides, among all that numbers of texts decide.
_NAME = "share"


@dataclass(frozen=True, slots=True)
class TextShare:
    """A share of texts; about so many of them, since each decides for itself.

    Attributes:
        millionths: how large it is.
        seed: of the numbers; another seed takes other texts.

    Example:
        >>> half, all_of_them = TextShare.parse("50%"), TextShare()
        >>> [half.takes(text) for text in ("a", "b", "c", "d")], all_of_them.takes("c")
        ([True, False, False, True], True)
    """

    millionths: int = WHOLE
    seed: int = 0

    @classmethod
    def parse(cls, written: str, *, seed: int = 0) -> TextShare:
        """What a person wrote, such as ``50%``.

        Args:
            written: more than 0% and at most 100%, with at most four decimals.
            seed: of the numbers.

        Raises:
            UsageError: it is no such share.
        """
        millionths = read_share(written)
        if millionths is None:
            raise UsageError(
                f"--share {written} is no share", help="write more than 0% and at most 100%, as 50%"
            )
        return cls(millionths, seed)

    def takes(self, text: str) -> bool:
        """Whether rules may rewrite a text."""
        if self.millionths == WHOLE:
            return True
        return below(number(Draw(self.seed), _NAME, text), WHOLE) < self.millionths

    def __str__(self) -> str:
        return print_share(self.millionths)
