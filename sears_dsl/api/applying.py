"""``sears.apply``: rules over a dataset in one call, for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sears_dsl.api.arguments import in_python, protection_of, remark, rulesets_of
from sears_dsl.errors import UsageError

if TYPE_CHECKING:
    from sears_dsl.batch.plan import Mode
    from sears_dsl.engine.matches import Scope, Unit
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.tagging.tagger import Tagger


def apply(
    dataset: object,
    ruleset: Ruleset | str | Path | Sequence[Ruleset | str | Path],
    *,
    column: str | Sequence[str] | None = None,
    mode: Mode = "each",
    scope: Scope = "first",
    unit: Unit | None = None,
    protect: Sequence[str] = (),
    spans: Sequence[str] = (),
    keep: str | Sequence[str] = (),
    id_column: str | None = None,
    share: str = "100%",
    with_originals: bool = False,
    draws: int = 1,
    seed: int = 0,
    tagger: Tagger | str | None = None,
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
        unit: what a rule sees at once; None: what the rules ask for, else the ``text``.
        protect: columns whose content must stay intact.
        spans: columns of spans that follow their text: ``"TEXT=COLUMN"``, ``"TEXT=START:END"`` or
            ``"TEXT=START+SPANTEXT"``; a rule that would touch one is left out of its row.
        keep: other columns that the records carry, such as the label; ``all`` for all of them.
        id_column: the column of ids; None for ``id`` where there is one, else row numbers from 1.
        share: about how many of the texts are rewritten; each decides for itself by its number, so
            that what ``"10%"`` takes, ``"25%"`` takes too.
        with_originals: mode chain: the rows as they were come first, then all rows once more as the
            rules leave them, with ``~rewritten`` behind their ids.
        draws: each row comes so many times, with other draws of what rules draw, and with a column
            ``draw`` that numbers them from 0; a list of texts gives dictionaries then.
        seed: of that number, and of what rules draw.
        tagger: a tagger or its name; None for the default one.

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
    from sears_dsl.batch.share import TextShare
    from sears_dsl.engine.matcher import compile_rules
    from sears_dsl.paraphrasing.rewording import sources_of

    with in_python(column="column"):
        if isinstance(dataset, str) and not Path(dataset).exists():
            raise UsageError(
                f"there is no file {dataset!r}; a string names a file with the rows",
                help="give texts as a list: sears.apply([text], rules)",
            )
        rulesets = rulesets_of(ruleset)
        matcher = compile_rules(rulesets, tagger=tagger, sources=sources_of(rulesets), seed=seed)
        for finding in tagger_findings(rulesets, lambda: matcher.tagger):
            remark(finding.render())
        return apply_to(
            dataset,
            matcher,
            column=column,
            mode=mode,
            scope=scope,
            unit=unit,
            protect=protect,
            spans=protection_of((), spans).spans,
            keep=keep,
            id_column=id_column,
            share=TextShare.parse(share, seed=seed),
            with_originals=with_originals,
            draws=draws,
        )
