"""``sears.score`` and ``sears.paraphrase``: whether texts mean the same, and rewordings of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sears_dsl.api.arguments import (
    OnProgress,
    in_python,
    names_of,
    names_of_columns,
    progress_reporter,
    read_once,
    remark,
    shares,
    whole_numbers,
)
from sears_dsl.api.results import TableResult
from sears_dsl.defaults import DEFAULT_SCORER, NO_SCORER
from sears_dsl.errors import DataError, UsageError, counted
from sears_dsl.runtime.extras import need_discovery

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sears_dsl.paraphrasing.plugins import AnyParaphraser, AnyScorer


@dataclass(eq=False, repr=False)
class ScoreResult(TableResult):
    """Pairs with the score of how far each rewrite keeps the meaning of its original.

    Attributes:
        pairs: (original, rewrite).
        scores: float64 (pairs,): S, from 0 to 1, where 1 is the same text.
        tau: the S from which texts count as equivalent; None if the scorer has none.
        scorer: its identity.
    """

    pairs: Sequence[tuple[str, str]]
    scores: NDArray[np.float64]
    tau: float | None
    scorer: str

    @property
    def equivalent(self) -> NDArray[np.bool_]:
        """Bool (pairs,): whether S ≥ τ.

        Raises:
            UsageError: there is no τ.
        """
        if self.tau is None:
            raise UsageError(
                f"{self.scorer} does not say from which score τ texts count as equivalent",
                help="set it: tau=0.5",
            )
        return self.scores >= self.tau

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """original, rewrite, score, and equivalent where there is a τ."""
        columns: dict[str, Sequence[Any]] = {
            "original": [original for original, _ in self.pairs],
            "rewrite": [rewrite for _, rewrite in self.pairs],
            "score": self.scores.tolist(),
        }
        return columns if self.tau is None else {**columns, "equivalent": self.equivalent.tolist()}

    @property
    def summary(self) -> str:
        """How many pairs are equivalent."""
        pairs = counted(len(self.pairs), "pair")
        if self.tau is None:
            return f"{pairs} scored by {self.scorer}"
        return f"{int(self.equivalent.sum()):,} of {pairs} with S ≥ {self.tau:.3g}"


def score(
    pairs: object,
    *,
    original: str | None = None,
    rewrite: str | None = None,
    scorer: AnyScorer = DEFAULT_SCORER,
    tau: float | None = None,
    pivots: Sequence[str] = (),
    device: str = "cpu",
) -> ScoreResult:
    """Score how far rewrites keep the meaning of their originals.

    Does what `sears score` does, with the same defaults.

    Args:
        pairs: a list of pairs (original, rewrite); or rows with two columns of text: a data frame,
            a Hugging Face dataset, a list of dictionaries, the path of a file.
        original: the column of originals; None infers it.
        rewrite: the column of rewrites; likewise.
        scorer: ``judge``, for rewrites that change a few words; ``meaning``, for whole sentences;
            ``pivot``, ``minilm``, or a function of pairs that returns numbers from 0 to 1.
        tau: the S from which texts count as equivalent; None for the scorer's own.
        pivots: languages to translate through; empty for the one that comes with packages.
        device: ``cpu`` or ``cuda``.

    Raises:
        UsageError: there is no such scorer, or an extra is not installed.
        DataError: rows that cannot be read, or it is not clear which columns are meant.

    Example:
        >>> import sears_dsl as sears
        >>> same = lambda pairs: [one.lower() == other.lower() for one, other in pairs]
        >>> result = sears.score([("A film.", "a film."), ("A film.", "A play.")], scorer=same,
        ...                      tau=0.5)
        >>> result.scores.tolist(), result.equivalent.tolist()
        ([1.0, 0.0], [True, False])
    """
    need_discovery()
    import numpy as np

    from sears_dsl.data.sources import open_rows
    from sears_dsl.discovery.parts import load_chosen_scorer
    from sears_dsl.meaning.judgements import pair_columns, pairs_of
    from sears_dsl.paraphrasing.plugins import known_tau

    with in_python():
        names_of_columns(original=original, rewrite=rewrite)
        shares(tau=tau)
        source = open_rows(read_once(pairs), pair=("original", "rewrite"))
        if not source.first.rows:
            raise DataError(f"{source.path} has no rows", help="give at least one row")
        columns = pair_columns(source, original=original, rewrite=rewrite)
        text_pairs = [
            pair
            for batch in source.batches()
            for pair in pairs_of(batch, columns, where=source.path)
        ]
        chosen = load_chosen_scorer(scorer, pivots=names_of(pivots), tau=tau, device=device)
        return ScoreResult(
            text_pairs,
            np.asarray(chosen.scores(text_pairs), np.float64),
            tau=known_tau(chosen),
            scorer=chosen.identity,
        )


@dataclass(eq=False, repr=False)
class ParaphraseResult(TableResult):
    """The paraphrases of texts: a sequence with a list for each text, best first."""

    texts: Sequence[str]
    paraphrases: Sequence[Sequence[str]]

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[list[str]]:
        return map(list, self.paraphrases)

    def __getitem__(self, place: int) -> list[str]:
        return list(self.paraphrases[place])

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """One row per paraphrase: original, paraphrase."""
        pairs = [
            (text, each)
            for text, of_text in zip(self.texts, self.paraphrases, strict=True)
            for each in of_text
        ]
        return {
            "original": [original for original, _ in pairs],
            "paraphrase": [each for _, each in pairs],
        }

    @property
    def summary(self) -> str:
        """How many texts have how many paraphrases."""
        count, paraphrased = sum(map(len, self.paraphrases)), sum(map(bool, self.paraphrases))
        texts = counted(len(self.texts), "text")
        whole = texts if paraphrased == len(self.texts) else f"{paraphrased:,} of {texts}"
        return f"{counted(count, 'paraphrase')} of {whole}"


def paraphrase(
    texts: object,
    *,
    text: str | None = None,
    most: int | None = None,
    paraphraser: AnyParaphraser | None = None,
    pivots: Sequence[str] = (),
    beam: int | None = None,
    device: str = "cpu",
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
) -> ParaphraseResult:
    """Paraphrase texts by translating them there and back, as `discover` does.

    Args:
        texts: a list of texts, or rows with a column of them, as `discover` takes them.
        text: that column; None infers it.
        most: most paraphrases of a text; None for all that the search gives, at most a hundred.
        paraphraser: rewordings of your own, as `discover` takes them.
        pivots: languages to translate through and back; empty for the one that comes with packages.
        beam: width of the search; None is 30.
        device: ``cpu`` or ``cuda``.
        jobs: processes; None for as many as cores, eight at most.
        on_progress: called with the progress.

    Raises:
        UsageError: invalid arguments, or an extra that is not installed.
        DataError: rows that cannot be read.

    Example:
        >>> import sears_dsl as sears
        >>> result = sears.paraphrase(["A film."], paraphraser={"A film.": ["A movie."]})
        >>> result[0], result.summary
        (['A movie.'], '1 paraphrase of 1 text')
    """
    need_discovery()
    from sears_dsl.data.labelled import read_texts
    from sears_dsl.discovery.parts import PartsChoice, open_parts
    from sears_dsl.paraphrasing.memory import remembered_paraphrases

    with in_python():
        names_of_columns(text=text)
        whole_numbers(1, most=1 if most is None else most, beam=beam, jobs=jobs)
        originals = read_texts(read_once(texts), column=text)
        choice = PartsChoice(
            scorer=NO_SCORER, paraphraser=paraphraser, pivots=names_of(pivots), beam=beam,
            device=device, jobs=jobs,
        )  # fmt: skip
        show = progress_reporter(on_progress)
        with open_parts(choice, choice.own(), folder=None, show=show, note=remark) as parts:
            paraphrases = remembered_paraphrases(
                parts.paraphraser,
                originals,
                parts.journal,
                on_portion=lambda done, total: show("paraphrasing", done, total),
            )
        return ParaphraseResult(originals, [(each or [])[:most] for each in paraphrases])
