"""The file of word vectors that a rule file names; it has to be found where rules are saved.

In: the options and the folder of a rule file. Out: the file, or a `UsageError`. Always holds: a
path that the options name starts in the folder of the rule file; what is no file there, such as the
name of vectors that are installed, is the same from everywhere. Costs a look at the folder.
"""

from __future__ import annotations

from pathlib import Path

from sears_dsl.errors import UsageError
from sears_dsl.language.rule import Options


def vectors_file(options: Options, folder: Path) -> Path | None:
    """The whole path of the file of vectors that a rule file names; None if it names none.

    Example:
        >>> vectors_file(Options(vectors="glove-6b-50d"), Path("rules"))
    """
    if options.vectors is None:
        return None
    file = folder / options.vectors
    return file.resolve() if file.is_file() else None


def check_vectors(options: Options, folder: Path, saved: Path) -> None:
    """UsageError: a rule file of ``folder`` names a file of vectors that ``saved`` does not find.

    Example:
        >>> check_vectors(Options(vectors="glove-6b-50d"), Path("old"), Path("new", "rules.sear"))
    """
    file = vectors_file(options, folder)
    if file is not None and file != vectors_file(options, saved.parent):
        raise UsageError(
            f"the ruleset names the vectors {options.vectors} of {file.parent}, which {saved} "
            "would not find",
            help=f"write it to {folder.absolute()}, or let `option vectors` name the "
            "file by its whole path",
        )
