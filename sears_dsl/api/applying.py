"""``sears.apply`` and its variants: rules over a dataset, a folder of files or Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat, TypeAlias, get_args

from sears_dsl.api.arguments import (
    AnyRules,
    in_python,
    names_of,
    names_of_columns,
    one_of,
    protection_of,
    remark,
    rulesets_of,
    rulesets_together,
    whole_numbers,
)
from sears_dsl.defaults import DEFAULT_TAGGER
from sears_dsl.errors import UsageError, check_whole_number
from sears_dsl.language.words import LARGEST_SEED, read_share
from sears_dsl.runtime.files import is_there, names_folder

if TYPE_CHECKING:
    from sears_dsl.batch.files import ApplyProgress, ApplyReport
    from sears_dsl.batch.plan import Mode, TextShare, Touched
    from sears_dsl.batch.workers import RulesetRecipe
    from sears_dsl.clusters.arrow_rewriting import ArrowRewriter
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
    on_touched: Touched = "keep",
    keep: str | Sequence[str] = (),
    id_column: str | None = None,
    share: float | str = "100%",
    with_originals: bool = False,
    draws: int = 1,
    seed: int = 0,
    vectors: str | None = None,
    tagger: Tagger | str | None = None,
) -> Any:
    """Apply rules to a dataset.

    Args:
        dataset: a list of texts, of dictionaries or of pairs (text, label), a pandas DataFrame or
            Series, a Hugging Face Dataset, a pyarrow or polars table, or the path of a file.
        ruleset: a ruleset; a rule file, a folder or the name of a shipped ruleset; or several.
        column: the text column or columns; None infers the column.
        mode: ``each`` gives a record for every row and rule that changed it (id, rule, original,
            rewritten, edits); ``chain`` gives the dataset with all rules applied in order.
        scope: rewrite the ``first`` instance of a rule in a unit, or ``all``.
        unit: what a rule sees at once; None for what the rules ask for, else the ``text``.
        protect: columns whose content must stay intact.
        spans: columns of spans that follow their text: ``"TEXT=COLUMN"``, ``"TEXT=START:END"`` or
            ``"TEXT=START+SPANTEXT"``.
        on_touched: where a rule would touch a span, ``keep`` the row without the rule, ``drop`` it
            (mode chain; mode each leaves out the rewrite alone), or stop with an ``error``.
        keep: other columns that the records carry, such as the label; ``all`` for all of them.
        id_column: the column of ids; None for ``id`` where there is one, else row numbers from 1.
        share: about which share of the texts to rewrite, 0.1 or ``"10%"``. Each text is drawn by
            its content and the seed, so ``"25%"`` takes every text that ``"10%"`` takes.
        with_originals: in mode chain, write the unchanged rows first, and then all rows as the
            rules leave them, with ``~rewritten`` appended to their ids.
        draws: how often to take each row, each time with new random draws. With more than one, a
            column ``draw`` numbers them from 0, and a list of texts gives dictionaries.
        seed: of the share, and of what rules draw at random.
        vectors: where ``.neighbor`` looks words up: ``glove-6b-50d``, ``minilm``, or a file; None
            for the vectors that the rules name.
        tagger: a tagger or its name; None for the default one.

    Returns:
        A dataset of the same kind.

    Warns:
        UserWarning: the rules read tags and were validated with another tagger.

    Raises:
        RuleSyntaxError: a rule file with errors.
        DataError: a column that is not there, a value that is not text.
        UsageError: a dataset or rules of a kind that is not known, or a name that stands for none.

    Example:
        >>> import sears_dsl as sears
        >>> records = sears.apply(["A fun movie."], sears.parse("movie -> film"))
        >>> records[0]["rewritten"]
        'A fun film.'
    """
    from sears_dsl.batch.in_memory import apply_to
    from sears_dsl.batch.provenance import tagger_findings
    from sears_dsl.paraphrasing.for_rules import compile_with_sources

    with in_python(column="column"):
        if isinstance(dataset, str) and not is_there(dataset):
            raise UsageError(
                f"there is no file {dataset!r}; a string names a file of rows",
                help="pass texts as a list: sears.apply([text], rules)",
            )
        if isinstance(dataset, str | Path) and names_folder(str(dataset)):
            raise UsageError(
                f"{dataset} is a folder, not a file of rows",
                help="sears.apply_folder(folder, rules, new_folder) rewrites all of its files",
            )
        whole_numbers(1, draws=draws)
        rulesets = rulesets_together(ruleset, unit=unit, vectors=vectors is not None)
        matcher = compile_with_sources(rulesets, tagger=tagger, seed=seed, vectors=vectors)
        for finding in tagger_findings(rulesets, lambda: matcher.tagger):
            remark(finding.render())
        return apply_to(
            dataset, matcher, column=column, mode=mode, scope=scope, unit=unit, protect=protect,
            spans=protection_of((), spans).spans, on_touched=on_touched, keep=keep,
            id_column=id_column, share=_share_of_texts(share, seed=seed),
            with_originals=with_originals, draws=draws,
        )  # fmt: skip


Engine: TypeAlias = Literal["local", "ray"]
"""What does the work: this process, or Ray workers."""


def apply_folder(
    source: str | Path,
    ruleset: AnyRules,
    output: str | Path,
    *,
    engine: Engine = "local",
    address: str | None = None,
    workers: int | None = None,
    resume: bool = False,
    column: str | Sequence[str] | None = None,
    mode: Mode = "each",
    scope: Scope = "first",
    unit: Unit | None = None,
    protect: Sequence[str] = (),
    spans: Sequence[str] = (),
    on_touched: Touched = "keep",
    keep: str | Sequence[str] = (),
    id_column: str | None = None,
    output_format: str | None = None,
    share: float | str = "100%",
    with_originals: bool = False,
    draws: int = 1,
    seed: int = 0,
    vectors: str | None = None,
    tagger: str = DEFAULT_TAGGER,
    on_progress: Callable[[ApplyProgress], object] | None = None,
) -> ApplyReport:
    """Apply rules to each file of a folder.

    As with `sears apply RULES FOLDER -o NEW-FOLDER`, each file becomes one of the same name, byte
    for byte what `sears apply` makes of it alone.

    Args:
        source: the folder: a path, or a URI that Arrow knows, such as ``s3://bucket/reviews``.
        ruleset: as `apply` takes it.
        output: the folder to make, likewise.
        engine: ``local`` takes one file after another in this process; ``ray`` uses Ray workers.
        address: the Ray cluster, ``HOST:PORT`` or ``auto``; None starts Ray on this machine.
        workers: how many Ray workers; None for one per core.
        resume: go on with an interrupted run: files that are done stay.
        column: as in `apply`, like the arguments from here to `vectors`.
        mode: ``each`` or ``chain``.
        scope: ``first`` or ``all``.
        unit: ``text`` or ``sentence``.
        protect: columns that stay intact.
        spans: columns of spans.
        on_touched: ``keep``, ``drop`` or ``error``.
        keep: columns that records carry.
        id_column: the column of ids.
        output_format: of the files; None for that of the source.
        share: of the texts to rewrite.
        with_originals: whether the rows as they were come first in each file.
        draws: how often to take each row.
        seed: of everything drawn at random.
        vectors: for ``.neighbor``.
        tagger: the name of a tagger; each worker makes its own.
        on_progress: called after every file, in order.

    Raises:
        DataError: some files failed; the error names them, and the others are written.
        UsageError: the output exists, the address has no cluster, or a name is not a folder's.

    Example:
        >>> import pathlib, tempfile
        >>> import sears_dsl as sears
        >>> with tempfile.TemporaryDirectory() as place:
        ...     folder = pathlib.Path(place, "reviews")
        ...     folder.mkdir()
        ...     _ = (folder / "a.jsonl").write_text('{"text": "A fun movie."}')
        ...     result = sears.apply_folder(folder, "synonyms/reviews", f"{place}/new")
        ...     result.tally.rows, pathlib.Path(place, "new", "a.jsonl").exists()
        (1, True)
    """
    from sears_dsl.batch.files import ApplyRequest
    from sears_dsl.clusters.applying import apply_folder as apply_to_folder
    from sears_dsl.clusters.parts import workers_of

    with in_python(column="column"):
        whole_numbers(1, draws=draws, workers=workers)
        names_of_columns(column=column, keep=keep, id_column=id_column)
        protected = protection_of(protect, spans)
        request = ApplyRequest(
            recipe=_recipe(ruleset, tagger=tagger, seed=seed, vectors=vectors),
            input=_folder(source, "source"), output=_folder(output, "output"), mode=mode,
            columns=names_of(column), protect=protected.columns, spans=protected.spans,
            on_touched=on_touched, keep=names_of(keep), scope=scope, unit=unit, id_column=id_column,
            output_format=output_format, resume=resume, share=_share_of_texts(share, seed=seed),
            with_originals=with_originals, draws=draws,
        )  # fmt: skip
        with workers_of(engine, address=address, count=workers) as working:
            return apply_to_folder(request, workers=working, progress=on_progress)


def arrow_rewriter(
    ruleset: AnyRules,
    *,
    column: str | Sequence[str],
    mode: Mode = "each",
    scope: Scope = "first",
    unit: Unit | None = None,
    protect: Sequence[str] = (),
    spans: Sequence[str] = (),
    on_touched: Touched = "keep",
    keep: str | Sequence[str] = (),
    id_column: str | None = None,
    share: float | str = "100%",
    seed: int = 0,
    vectors: str | None = None,
    tagger: str = DEFAULT_TAGGER,
) -> ArrowRewriter:
    """Make rules a function of Arrow batches, for Spark, Ray Data and other engines.

    Pass its ``batches`` to Spark's ``mapInArrow``, with its ``schema`` as that of the output, or
    the object itself to Ray's ``map_batches`` with ``batch_format="pyarrow"``. It can be pickled;
    each process compiles the rules once.

    Args:
        ruleset: as `apply` takes it.
        column: the text column or columns.
        mode: ``each`` gives a record for every row and rule that changed it; ``chain`` every row
            once, with all rules applied in order.
        scope: rewrite the ``first`` instance of a rule in a unit, or ``all``.
        unit: what a rule sees at once; None for what the rules ask for, else the ``text``.
        protect: columns whose content must stay intact.
        spans: columns of spans that follow their text, as `apply` takes them.
        on_touched: what happens to a row if a rule would touch a span, as in `apply`.
        keep: in mode each, other columns that the records carry; ``all`` for all of them.
        id_column: the column of ids; None for ``id``. Mode each needs one.
        share: about which share of the texts to rewrite, as `apply` takes it.
        seed: of the share, and of what rules draw at random.
        vectors: for ``.neighbor``, as `apply` takes them.
        tagger: the name of a tagger.

    Raises:
        RuleSyntaxError: rules with errors.
        UsageError: arguments that do not go together.

    Example:
        >>> import pyarrow
        >>> import sears_dsl as sears
        >>> rewriter = sears.arrow_rewriter("synonyms/reviews", column="text", mode="chain")
        >>> table = pyarrow.table({"text": ["A fun movie."], "label": [1]})
        >>> rewriter(table).to_pylist()
        [{'text': 'A fun film.', 'label': 1}]
    """
    from sears_dsl.batch.plan import Mode, Plan, Touched
    from sears_dsl.clusters.arrow_rewriting import ArrowRewriter
    from sears_dsl.engine.matches import Scope

    with in_python(column="column"):
        one_of(get_args(Mode), mode=mode)
        one_of(get_args(Scope), scope=scope)
        one_of(get_args(Touched), on_touched=on_touched)
        names_of_columns(column=column, keep=keep, id_column=id_column)
        if not names_of(column):
            raise UsageError("which column is the text?", help="name it: column='text'")
        names = names_of(keep)
        if mode == "chain" and names:
            raise UsageError("mode chain keeps all columns", help="leave out keep")
        protected = protection_of(protect, spans)
        plan = Plan(
            columns=names_of(column), id_column=id_column, scope=scope, unit=unit,
            protect=protected.columns, spans=protected.spans, on_touched=on_touched,
            share=_share_of_texts(share, seed=seed),
        )  # fmt: skip
        recipe = _recipe(ruleset, tagger=tagger, seed=seed, vectors=vectors)
        return ArrowRewriter(recipe, mode=mode, plan=plan, keep=names)


def _folder(value: object, argument: str) -> str:
    if isinstance(value, str | Path):
        return str(value)
    raise UsageError(
        f"{argument}={value!r:.60} does not name a folder",
        help=f"pass a path or a URI that Arrow knows: {argument}='reviews'",
    )


def _share_of_texts(share: float | str, *, seed: int) -> TextShare:
    from sears_dsl.batch.plan import TextShare

    check_whole_number(seed, name="seed", least=0, most=LARGEST_SEED)
    if isinstance(share, str):
        return TextShare.parse(share, seed=seed)
    written = f"{float(share):.4%}" if isinstance(share, SupportsFloat) else ""
    if read_share(written) is None:
        raise UsageError(
            f"share={share!r:.60} is not valid",
            help="pass a number from 0.000001 to 1, or a string such as '50%'",
        )
    return TextShare.parse(written, seed=seed)


def _recipe(ruleset: object, *, tagger: str, seed: int, vectors: str | None) -> RulesetRecipe:
    from sears_dsl.batch.provenance import tagger_in_language
    from sears_dsl.paraphrasing.for_rules import RewordingRecipe

    if not isinstance(tagger, str):
        raise UsageError(
            f"tagger is of type {type(tagger).__name__}, which cannot be sent to workers",
            help="pass its name, or the 'module:function' that makes it",
        )
    rulesets = tuple(rulesets_of(ruleset))
    named = tagger_in_language(tagger, rulesets)
    return RewordingRecipe(rulesets, tagger=named, seed=seed, vectors=vectors)
