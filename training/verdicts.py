"""What readers say of the lines of a sheet, and that it counts for no other sheet.

In: a folder of `training.synonyms`: sheets, what stands where in them, and a file of verdicts for
each, a line for a line. Out: the verdicts by the numbers of the lines. Always holds: a folder has
the sheets of one step, and each of their lines has one verdict, or nothing is given. Costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sears_dsl.errors import DataError

_FORM = "a line is the number in the sheet, a tab, 1 or 0, and if 0 a tab and what is wrong"


def check_unused(folder: Path) -> None:
    """Refuse a folder that has sheets: what readers say of those would count for new ones.

    Raises:
        DataError: the folder has sheets or verdicts.
    """
    for pattern in ("key*.json", "sheet*.tsv", "verdicts*.tsv"):
        for path in sorted(folder.glob(pattern))[:1]:
            raise DataError(
                f"{folder} has {path.name}, and a folder holds the sheets of one step",
                help="name another folder for the new sheets",
            )


def sheets_of(folder: Path) -> list[str]:
    """The numbers of the sheets of a folder.

    Raises:
        DataError: it has none, or a sheet without what stands where in it, or the other way round.
    """
    advice = "name the folder into which a step wrote them"
    numbers, keys = (
        sorted(path.stem.removeprefix(name) for path in folder.glob(f"{name}*{suffix}"))
        for name, suffix in (("sheet", ".tsv"), ("key", ".json"))
    )
    if not numbers:
        raise DataError(f"{folder} has no sheets", help=advice)
    if numbers != keys:
        number = min({*numbers} ^ {*keys})
        raise DataError(
            f"{folder} has only one of sheet{number}.tsv, key{number}.json", help=advice
        )
    return numbers


def read_verdicts(path: Path, *, count: int) -> Mapping[int, tuple[str, str]]:
    """The verdict on each of the ``count`` lines of a sheet, and what is wrong.

    Raises:
        DataError: the file cannot be read, or is no verdict on each line of the sheet.
    """
    try:
        with path.open(encoding="utf-8") as file:
            lines = [line.removesuffix("\n") for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} could not be read: {error}", help=_FORM) from error
    verdicts: dict[int, tuple[str, str]] = {}
    for at, line in enumerate(lines, 1):
        number, verdict, *why = f"{line}\t".split("\t")
        if verdict not in ("0", "1") or not number.isdecimal() or not 1 <= int(number) <= count:
            raise DataError(f"{path}, line {at}: {line!r} is no verdict", help=_FORM)
        if int(number) in verdicts:
            raise DataError(f"{path}, line {at}: number {number} has two verdicts", help=_FORM)
        verdicts[int(number)] = verdict, " ".join(why).strip()
    missing = [number for number in range(1, count + 1) if number not in verdicts]
    if missing:
        raise DataError(f"{path} has no verdict on number {missing[0]}", help=_FORM)
    return verdicts
