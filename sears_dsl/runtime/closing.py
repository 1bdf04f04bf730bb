"""What holds a file, a database or processes, and lets go of it at the end of a ``with`` block.

In: a class with a ``close``. Out: the same as a context manager. Always holds: leaving the block
closes, whether or not something was raised, and swallows nothing.
"""

from __future__ import annotations

from typing import Self


class Closing:
    """Base of classes that are closed at the end of a ``with`` block.

    Example:
        >>> class Door(Closing):
        ...     def close(self) -> None:
        ...         print("closed")
        >>> with Door() as door:
        ...     print("open")
        open
        closed
    """

    def close(self) -> None:
        """Let go of what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
