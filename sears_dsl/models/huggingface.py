"""Hugging Face models: text classification, spans of contexts, questions about pictures.

Classification takes one column, or two for a pair of texts in the order of the columns. Question
answering takes ``question`` and ``context``; a question about a picture takes ``question``,
``image`` (a path) and perhaps ``choices``, among which it then answers. Always holds: pictures are
decoded here and sent nowhere. A folder is used, or a model that is already on this machine; nothing
is downloaded unless that is asked for. Weights are safetensors, never pickles. Code that comes with
a model is not run. Rows are read in batches of 32, pictures in batches of 16.

Contexts that are too long are read in overlapping windows, and the best span of all is taken; it is
never empty where the context has a word. The confidence is `certainty.from_distributions` over the
tokens of the whole context; a token in two windows counts with the higher of its scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import file_digest, sha256
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    pipeline,
)
from transformers.utils import logging

from sears_dsl.answers import COMPARISON_FORMS, Comparison
from sears_dsl.errors import ModelError, UsageError, counted
from sears_dsl.models import predictor
from sears_dsl.models.certainty import from_distributions
from sears_dsl.pictures import BETWEEN_CHOICES, decoded_picture, need_pictures

_LONGEST_ANSWER = 30  # tokens
_WINDOW = 384  # tokens of question and context together
_OVERLAP = 128
_WINDOWS_A_PASS = 32


class ExtractionPredictor(predictor.AnsweringPredictor):
    """An extractive question answering model of transformers."""

    def __init__(self, model: Any, tokenizer: Any, *, identity: str) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._longest = min(_WINDOW, _longest(model, tokenizer))
        self._overlap = min(_OVERLAP, self._longest // 3)
        marks = tokenizer.num_special_tokens_to_add(pair=True)
        self._longest_question = self._longest - marks - self._overlap - self._overlap // 4
        self._identity = identity
        self._cut: set[str] = set()

    @property
    def remarks(self) -> list[str]:
        """How many questions leave too little room for a context, if any do."""
        questions = counted(len(self._cut), "question is", "questions are")
        return [f"{questions} too long for the model, which reads the beginning"] * bool(self._cut)

    def predict_with_confidence(self, rows: Sequence[predictor.Row]) -> list[predictor.Answer]:
        """The most probable answers, with confidences; None for a context without a token."""
        _require_columns(self._identity, rows, "context")
        return predictor.ask_answers(self._identity, rows, lambda: self._answers(rows))

    def _question(self, text: str) -> str:
        """A question, cut where it would leave less for the context than windows overlap."""
        # Every piece has at least one byte.
        if len(text.encode("utf-8", "surrogatepass")) <= self._longest_question:
            return text
        pieces = self._tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        if len(pieces["input_ids"]) <= self._longest_question:
            return text
        self._cut.add(text)
        return text[: pieces["offset_mapping"][self._longest_question][0]]

    def _answers(self, rows: Sequence[predictor.Row]) -> list[tuple[str, float] | str]:
        windows = self._tokenizer(
            [self._question(row["question"]) for row in rows],
            [row["context"] for row in rows],
            truncation="only_second",
            max_length=self._longest,
            stride=self._overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding=True,
            return_tensors="pt",
        )
        row_of = windows.pop("overflow_to_sample_mapping").tolist()
        offsets = windows.pop("offset_mapping")
        in_context = torch.tensor(
            [[part == 1 for part in windows.sequence_ids(at)] for at in range(len(row_of))]
        )
        best = [(float("-inf"), "")] * len(rows)
        # For each row: where a token begins in the context → its scores as first and as last token.
        scores: list[dict[int, tuple[float, float]]] = [{} for _ in rows]
        for first in range(0, len(row_of), _WINDOWS_A_PASS):
            some = slice(first, first + _WINDOWS_A_PASS)
            inputs = {name: values[some].to(self._model.device) for name, values in windows.items()}
            with torch.inference_mode():
                outputs = self._model(**inputs)
            starts, ends = outputs.start_logits.cpu(), outputs.end_logits.cpu()
            for at, (start, end) in enumerate(zip(starts, ends, strict=True), first):
                score, low, high = _best_span(start, end, in_context[at])
                row = row_of[at]
                if score > best[row][0]:
                    span = slice(int(offsets[at][low][0]), int(offsets[at][high][1]))
                    best[row] = score, rows[row]["context"][span]
                # A token in two windows counts with the higher of its scores.
                inside = in_context[at]
                places = offsets[at][inside, 0].tolist()
                own = zip(start[inside].tolist(), end[inside].tolist(), strict=True)
                for place, both in zip(places, own, strict=True):
                    before = scores[row].get(place, both)
                    scores[row][place] = max(both[0], before[0]), max(both[1], before[1])
        return [
            (answer, _confidence(of_row)) if of_row else answer
            for (_, answer), of_row in zip(best, scores, strict=True)
        ]


def _require_columns(identity: str, rows: Sequence[predictor.Row], about: str) -> None:
    """Raise unless each row is a question and what it is about."""
    for row in rows:
        if not {"question", about} <= set(row):
            raise ModelError(
                f"{identity} needs the columns question and {about}, but the rows have "
                f"{', '.join(row)}",
                help="rename columns if need be, and name both: --column question "
                + ("--image image" if about == "image" else f"--also {about}"),
            )


def _confidence(scores: dict[int, tuple[float, float]]) -> float:
    chances = torch.tensor(list(scores.values()), dtype=torch.float64).softmax(0)
    return from_distributions(chances[:, 0].numpy(), chances[:, 1].numpy())


def _best_span(
    starts: torch.Tensor, ends: torch.Tensor, allowed: torch.Tensor
) -> tuple[float, int, int]:
    """Score, first and last token of the best span within the context."""
    tokens = len(starts)
    # (first token, last token): a last one before the first, or too far after it, is no answer.
    possible = torch.ones(tokens, tokens, dtype=torch.bool).triu().tril(_LONGEST_ANSWER - 1)
    possible &= allowed[:, None] & allowed[None, :]
    scores = (starts[:, None] + ends[None, :]).masked_fill(~possible, float("-inf"))
    place = int(scores.argmax())
    return float(scores.flatten()[place]), place // tokens, place % tokens


_TOKENIZER = "tokenizer_config.json"
_BATCH_SIZE = 32
_PAIR = 2
_MARKS = 8
# Tokenizers without a limit give a number that no text reaches.
_NO_LIMIT = 10**9
# From this probability on a label is among several.
_LIKELY = 0.5


_PIPELINES: dict[str, tuple[Any, Any]] = {
    "ForSequenceClassification": ("text-classification", AutoModelForSequenceClassification),
    "ForTokenClassification": ("token-classification", AutoModelForTokenClassification),
}


class PipelinePredictor(predictor.AnsweringPredictor):
    """A ``text-classification`` or ``token-classification`` pipeline of transformers.

    The comparison says which kind of answers is wanted: the most probable label; all labels with a
    probability of at least one half; a number; or entities, which a token classifier gives.
    """

    def __init__(
        self, classify: Any, *, identity: str | None = None, comparison: Comparison = "exact"
    ) -> None:
        task = "token-classification" if comparison == "entities" else "text-classification"
        if classify.task != task:
            raise UsageError(
                f"a {classify.task} pipeline gives no "
                + ("entities" if comparison == "entities" else "labels"),
                help=f"use a {task} pipeline, or wrap yours in a function",
            )
        if classify.model.config.num_labels < _PAIR and not comparison.startswith("within:"):
            raise UsageError(
                "this model returns a number for each text, not a label",
                help="compare numbers with --compare within:0.5, or wrap it in a function that "
                "turns the number into a label",
            )
        self._comparison = comparison
        self._classify = classify
        self._longest = _longest(classify.model, classify.tokenizer)
        self.has_identity = identity is not None
        self._identity = identity or f"hf:{classify.model.name_or_path}"
        self._cut: set[str] = set()

    @property
    def identity(self) -> str:
        """The model's, with the kind of its answers: other ones than labels are kept apart."""
        kind = self._comparison.partition(":")[0]
        return f"{self._identity}, {kind}" if kind in COMPARISON_FORMS else self._identity

    @property
    def remarks(self) -> list[str]:
        """How many texts are longer than the model reads, if any are."""
        if not self._cut:
            return []
        texts = counted(len(self._cut), "text (row or rewrite) is", "texts (rows and rewrites) are")
        return [
            f"{texts} longer than the {self._longest:,} tokens that the model reads; it does not "
            "see the rest, so a change there flips nothing"
        ]

    def predict_with_confidence(self, rows: Sequence[predictor.Row]) -> list[predictor.Answer]:
        """The most probable label of each row with its probability."""
        inputs = [self._input(row) for row in rows]
        self._cut.update(predictor.row_key(row) for row in rows if self._is_cut(row))
        # A batch of unequal rows needs a piece to pad with, which some tokenizers lack.
        fills = self._classify.tokenizer.pad_token_id is not None
        size = min(len(rows), _BATCH_SIZE) if fills else 1
        return predictor.ask_answers(
            self._identity,
            rows,
            lambda: self._classify_all(inputs, size),
            comparison=self._comparison,
        )

    def _classify_all(self, inputs: Sequence[str | dict[str, str]], size: int) -> list[Any]:
        """Answers of the pipeline, of the kind that is wanted."""
        if self._comparison == "entities":
            grouped = self._classify(inputs, batch_size=size, aggregation_strategy="simple")
            # For a single text, some versions give its entities without a list around them.
            return [grouped] if grouped and isinstance(grouped[0], dict) else list(grouped)
        options: dict[str, Any] = {"batch_size": size}
        if self._longest < _NO_LIMIT:
            options |= {"truncation": True, "max_length": self._longest}
        if self._comparison == "set":
            scored = self._classify(inputs, top_k=None, function_to_apply="sigmoid", **options)
            return [
                [each["label"] for each in of_row if each["score"] >= _LIKELY] for of_row in scored
            ]
        if self._comparison.startswith("within:"):
            predictions = self._classify(inputs, function_to_apply="none", **options)
            return [float(_best(each)["score"]) for each in predictions]
        best = map(_best, self._classify(inputs, **options))
        return [(each["label"], float(each["score"])) for each in best]

    def _is_cut(self, row: predictor.Row) -> bool:
        """Whether a row has more pieces than the model reads."""
        tokenizer, texts = self._classify.tokenizer, list(row.values())
        # Every piece has at least one byte, except the few that mark beginning and end.
        bytes_of = (len(text.encode("utf-8", "surrogatepass")) for text in texts)
        if sum(bytes_of) + _MARKS <= self._longest:
            return False
        return len(tokenizer(*texts, verbose=False)["input_ids"]) > self._longest

    def _input(self, row: predictor.Row) -> str | dict[str, str]:
        texts = list(row.values())
        if len(texts) == 1:
            return texts[0]
        if len(texts) == _PAIR:
            return {"text": texts[0], "text_pair": texts[1]}
        raise ModelError(
            f"{self._identity} takes one text or a pair, not the {len(texts)} columns "
            f"{', '.join(row)}",
            help="name one or two columns",
        )


def _best(scored: Any) -> Any:
    """The most probable label; a pipeline that was made to give all labels gives a list."""
    return max(scored, key=itemgetter("score")) if isinstance(scored, list) else scored


def _longest(model: Any, tokenizer: Any) -> int:
    """The most pieces that a model reads: as the tokenizer says, or as it has positions for."""
    stated = getattr(model.config, "max_position_embeddings", None)
    positions = [stated] if isinstance(stated, int) and stated > 0 else []
    places = (  # some number positions from the one after the padding piece's
        each.num_embeddings - (-1 if each.padding_idx is None else each.padding_idx) - 1
        for name, each in model.named_modules()
        if name.endswith("position_embeddings") and isinstance(each, torch.nn.Embedding)
    )
    return min([int(tokenizer.model_max_length), *positions, *places])


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    """Hide the bars that loading weights would draw over those of the command."""
    drawn = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if drawn:
            logging.enable_progress_bar()


@_without_progress_bars()
def load_pipeline(
    name: str, *, download: bool = False, comparison: Comparison = "exact"
) -> predictor.Predictor:
    """Load the model in a folder, or of that name on the hub if it is here or may be fetched."""
    local = Path(name).is_dir()
    options = {"local_files_only": local or not download, "trust_remote_code": False}
    place = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def loaded(kind: Any) -> Any:
        return kind.from_pretrained(name, use_safetensors=True, **options).eval().to(place)

    try:
        config = AutoConfig.from_pretrained(name, **options)
    # Whatever transformers raises about files that are not what they should be.
    except Exception as error:
        raise UsageError(
            f"there is no model in {name}: {_first_line(error)}",
            help="a folder needs config.json, weights and tokenizer, as save_pretrained writes them"
            if local
            else "check the name, and that the hub can be reached from here",
        ) from error
    attention = getattr(config, "_attn_implementation", None)
    if attention not in (None, "eager", "sdpa"):
        raise UsageError(
            f"{name} computes its attention with {attention}, code from elsewhere",
            help="remove attn_implementation from its config.json",
        )
    architecture = str((getattr(config, "architectures", None) or [""])[0])
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, **options)
        files = {_TOKENIZER, *tokenizer.vocab_files_names.values()}
        # Without its files, transformers makes a tokenizer that knows no word: all texts are alike.
        if local and len(files) > 1 and not any(Path(name, each).is_file() for each in files):
            raise UsageError(
                f"the model {name} has no tokenizer",
                help=f"save it there, too: tokenizer.save_pretrained({name!r})",
            )
        if architecture == "ViltForQuestionAnswering":
            need_pictures()
            from transformers import (  # noqa: PLC0415 - few models answer about pictures
                AutoModelForVisualQuestionAnswering,
                AutoProcessor,
            )

            network = loaded(AutoModelForVisualQuestionAnswering)
            processor = AutoProcessor.from_pretrained(name, **options)
            return VisualPredictor(network, processor, identity=_identity(name, config))
        if architecture.endswith("ForQuestionAnswering"):
            reader = loaded(AutoModelForQuestionAnswering)
            return ExtractionPredictor(reader, tokenizer, identity=_identity(name, config))
        for ending, (task, kind) in _PIPELINES.items():
            if architecture.endswith(ending):
                model = loaded(kind)
                # Token classification takes its limit from the tokenizer alone.
                tokenizer.model_max_length = _longest(model, tokenizer)
                classify = pipeline(task, model=model, tokenizer=tokenizer, device=place)
                return PipelinePredictor(
                    classify, identity=_identity(name, config), comparison=comparison
                )
    except UsageError:
        raise
    # Likewise.
    except Exception as error:
        raise ModelError(
            f"the model {name} could not be loaded: {_first_line(error)}",
            help="weights have to be safetensors, as "
            "`model.save_pretrained(folder)` of a current transformers writes them",
        ) from error
    raise UsageError(
        f"{name} is a model of an unknown kind: {architecture or 'its config names none'}",
        help="it may classify (…ForSequenceClassification, …ForTokenClassification) or answer "
        "questions (…ForQuestionAnswering); wrap other models in a function",
    )


def _identity(name: str, config: Any) -> str:
    """The name with the hub's revision, or with a hash of the folder's files."""
    folder = Path(name)
    if not folder.is_dir():
        return f"hf:{name} ({str(getattr(config, '_commit_hash', None))[:12]})"
    digest = sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        digest.update(path.name.encode())
        with path.open("rb") as file:
            file_digest(file, lambda: digest)
    return f"hf:{name} ({digest.hexdigest()[:12]})"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


_QUESTIONS_A_PASS = 16


class VisualPredictor(predictor.AnsweringPredictor):
    """A network that answers questions about pictures, such as ViLT; its answers are classes."""

    def __init__(self, model: Any, processor: Any, *, identity: str) -> None:
        self._model = model
        self._processor = processor
        self._identity = identity
        names = model.config.id2label
        self._answers = [str(names[number]) for number in range(len(names))]

    def predict_with_confidence(self, rows: Sequence[predictor.Row]) -> list[predictor.Answer]:
        """The likeliest answer to each row, with its probability."""
        _require_columns(self._identity, rows, "image")
        return predictor.ask_answers(self._identity, rows, lambda: self._answered(rows))

    def _answered(self, rows: Sequence[predictor.Row]) -> list[tuple[str, float]]:
        answers: list[tuple[str, float]] = []
        for start in range(0, len(rows), _QUESTIONS_A_PASS):
            part = rows[start : start + _QUESTIONS_A_PASS]
            inputs = self._processor(
                [decoded_picture(row["image"]) for row in part],
                [row["question"] for row in part],
                return_tensors="pt",
                padding=True,
                truncation=True,
            ).to(self._model.device)
            with torch.no_grad():
                scores = self._model(**inputs).logits.sigmoid().cpu()
            answers += [self._best(row, own) for row, own in zip(part, scores, strict=True)]
        return answers

    def _best(self, row: predictor.Row, scores: torch.Tensor) -> tuple[str, float]:
        choices = set(row.get("choices", "").split(BETWEEN_CHOICES)) - {""}
        among = [
            place for place, answer in enumerate(self._answers) if not choices or answer in choices
        ]
        if not among:
            raise ModelError(
                f"{self._identity} knows none of the answers {', '.join(sorted(choices))}",
                help="leave out --choices; then it chooses among all answers that it knows",
            )
        best = max(among, key=lambda place: float(scores[place]))
        return self._answers[best], float(scores[best])
