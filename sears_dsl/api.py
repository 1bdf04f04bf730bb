"""``sears.apply``: rules over a dataset in one call, for notebooks and scripts."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sears_dsl.errors import DataError, UsageError

if TYPE_CHECKING:
    from sears_dsl.batch.plan import Mode, Scope, Unit
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.tagging.tagger import Tagger

__all__ = ["apply"]


def apply(
    dataset: object,
    ruleset: Ruleset | str | Path | Sequence[Ruleset | str | Path],
    *,
    column: str | Sequence[str] | None = None,
    mode: Mode = "each",
    scope: Scope = "first",
    unit: Unit = "text",
    protect: Sequence[str] = (),
    keep: str | Sequence[str] = (),
    id_column: str | None = None,
    tagger: Tagger | None = None,
) -> Any:
    """Apply rules to a dataset.

    Args:
        dataset: a list of texts or of dictionaries, a pandas DataFrame or Series, a Hugging Face
            Dataset, a pyarrow Table, a polars DataFrame, or the path of a file.
        ruleset: a ruleset; a rule file, a folder or the name of a shipped ruleset; or several.
        column: the text column or columns; None for the one that can be meant.
        mode: ``each`` gives a record for every row and rule that changed it (id, rule, original,
            rewritten, edits); ``chain`` gives the dataset with all rules applied in order.
        scope: rewrite the ``first`` instance of a rule in a unit, or ``all``.
        unit: what a rule sees at once, the ``text`` or each ``sentence`` of it.
        protect: columns whose content must stay intact.
        keep: other columns that the records carry, such as the label; ``all`` for all of them.
        id_column: the column of ids; None for ``id`` where there is one, else row numbers from 1.
        tagger: None for the default one.

    Returns:
        A dataset of the same kind.

    Warns:
        UserWarning: the rules read tags and were validated with another tagger.

    Raises:
        RuleSyntaxError: a rule file with errors.
        DataError: a column that is not there, a value that is no text.
        UsageError: a dataset or rules of a kind that is not known, or a name that stands for none.

    Example:
        >>> import sears_dsl as sears
        >>> records = sears.apply(["A fun movie."], sears.parse("movie -> film"))
        >>> records[0]["rewritten"]
        'A fun film.'
    """
    from sears_dsl.batch.memory import apply_to
    from sears_dsl.batch.provenance import tagger_findings
    from sears_dsl.engine.matcher import compile_rules

    if isinstance(dataset, str) and not Path(dataset).exists():
        raise UsageError(
            f"there is no file {dataset!r}; a string names a file with the rows",
            help="give texts as a list: sears.apply([text], rules)",
        )
    rulesets = _rulesets(ruleset)
    matcher = compile_rules(rulesets, tagger=tagger)
    for finding in tagger_findings(rulesets, lambda: matcher.tagger):
        warnings.warn(finding.render(), stacklevel=2)
    try:
        return apply_to(
            dataset,
            matcher,
            column=column,
            mode=mode,
            scope=scope,
            unit=unit,
            protect=protect,
            keep=keep,
            id_column=id_column,
        )
    except (DataError, UsageError) as error:
        message, advice = _in_python(error.message), _in_python(error.help)
        if (message, advice) == (error.message, error.help):
            raise
        raise type(error)(message, help=advice) from None


def _in_python(text: str) -> str:
    """A message with the options of ``sears apply`` as arguments."""
    text = re.sub(
        r"--keep (\w[^\s:]*)((?: --keep \w\S*)*)",
        lambda found: f"keep={[found[1], *found[2].split()[1::2]]!r}",
        text,
    )
    return re.sub(r"--(column|keep|protect|id-column)\b", _argument, text)


def _argument(found: re.Match[str]) -> str:
    return found[1].replace("-", "_") + "="


def _rulesets(given: object) -> list[Ruleset]:
    """Rulesets, loaded where they are named.

    Raises:
        UsageError: it is nothing that holds rules.
    """
    from sears_dsl.catalogue import load_rulesets
    from sears_dsl.language.rule import Rule
    from sears_dsl.language.ruleset import Ruleset

    if isinstance(given, Ruleset):
        return [given]
    if isinstance(given, (str, Path)):
        return load_rulesets([str(given)])
    if isinstance(given, Sequence):
        return [ruleset for each in given for ruleset in _rulesets(each)]
    if isinstance(given, Rule):
        raise UsageError(
            "a Rule alone does not say under which options it is read",
            help="make it a ruleset: sears.Ruleset.from_rules([rule])",
        )
    raise UsageError(
        f"rules are a Ruleset, a name of rules or a list of these, not {type(given).__name__}",
        help="sears.parse('movie -> film') makes a ruleset of text, sears.load('a.sear') of a file",
    )
