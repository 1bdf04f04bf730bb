"""Loads a model: from what a user writes for it to something that can be asked.

    module:object            a function or an object with ``predict``, here or installed
    sklearn:FILE             an estimator that joblib or pickle wrote (naming it allows unpickling)
    hf:FOLDER, hf:NAME       text classification or question answering of transformers
    http://…, https://…      an endpoint that takes and gives JSON
    llm:FILE                 a language model behind an OpenAI-compatible endpoint, by its settings
    file:FILE                predictions that somebody else makes: csv, tsv, jsonl or parquet
    vote:SPEC,SPEC,SPEC      several of these together: most labels win, or most words of answers
    every:SPEC,SPEC          several of these together: right where each of them is

From Python, a model may also be an object: a function of a list of texts, an estimator of
scikit-learn, a text-classification pipeline of transformers, or any object with ``predict``. A list
of these, or a dictionary from names to them, is as ``every:``.

Always holds: only what was named is imported, unpickled or asked. An option that the kind of model
does not know is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from sears_dsl.answers import Comparison, is_free_text
from sears_dsl.errors import UsageError
from sears_dsl.models.cached import CachedPredictor, PredictionStore
from sears_dsl.models.predictor import OnError, Predictor
from sears_dsl.runtime.extras import need_endpoints
from sears_dsl.runtime.files import is_file, is_folder
from sears_dsl.runtime.interrupts import import_whole

if TYPE_CHECKING:
    from sears_dsl.models.http.language_model import LanguageModel
    from sears_dsl.models.http.posting import Waits

_CONFIG = "config.json"
_ADDRESS = re.compile(r"(?:localhost|[\w-]+\.[\w.-]+):\d")  # of an endpoint, without http://
_PICKLES = {".joblib", ".pickle", ".pkl"}
_ENDPOINTS = ("http", "https")
_ASKED_OVER_HTTP = (*_ENDPOINTS, "llm")
_ANY_ENDPOINT = "endpoints (http://…, llm:…)"
# Option → its name in errors, the kinds that take it (None: all that are called), and their name.
_OPTIONS: Mapping[str, tuple[str, tuple[str, ...] | None, str]] = {
    "batch_size": ("batch size", None, "models that are called"),
    "request_map": ("request map", _ENDPOINTS, "endpoints (http://…)"),
    "response_map": ("response map", _ENDPOINTS, "endpoints (http://…)"),
    "timeout": ("time-out", _ASKED_OVER_HTTP, _ANY_ENDPOINT),
    "retries": ("number of retries", _ASKED_OVER_HTTP, _ANY_ENDPOINT),
    "connections": ("number of connections", _ASKED_OVER_HTTP, _ANY_ENDPOINT),
    "on_error": ("choice of what to do on an error", _ASKED_OVER_HTTP, _ANY_ENDPOINT),
    "inputs": ("file of inputs", ("file",), "predictions in a file"),
    "download": ("download", ("hf",), "names of the hub (hf:…)"),
}
_KINDS = (
    "module:object, sklearn:FILE, hf:FOLDER, http://…, llm:FILE, file:FILE, vote:SPEC,SPEC, "
    "every:SPEC,SPEC"
)


def load_predictor(
    model: object,
    *,
    store: PredictionStore | None = None,
    batch_size: int | None = None,
    request_map: str | None = None,
    response_map: str | None = None,
    timeout: float | None = None,
    retries: int | None = None,
    connections: int | None = None,
    on_error: OnError | None = None,
    inputs: Path | None = None,
    download: bool = False,
    comparison: Comparison = "exact",
    announce: Callable[[str], None] = lambda _: None,
) -> CachedPredictor:
    """Load a model, which is asked in batches and once for each distinct row.

    Args:
        model: a specification of what to load, as above; or a function, an estimator, a pipeline
            or an object with ``predict``.
        store: keeps predictions on disk, of several models those of each. Not used for ``file:``,
            whose file keeps them. An object that is stored needs an attribute ``identity``, by
            which its predictions are found.
        batch_size: rows in a call; None leaves it to the kind (64; all for ``file:``; one where
            each row has its own request).
        request_map: of an endpoint: how rows become JSON, a .toml or .json file, or JSON.
        response_map: of an endpoint: where the labels are, a JSON pointer, a file, or JSON.
        timeout: of an endpoint or ``llm:``: seconds to wait (30).
        retries: likewise: how often to try again (3).
        connections: likewise: requests at the same time (4).
        on_error: likewise: whether a text that it refuses (400, 413, 422) is an error
            (``stop``) or is left out (``skip``).
        inputs: of ``file:``: where to write the rows that want predictions.
        download: of ``hf:NAME``: fetch a model that is not on this machine.
        comparison: which kind of answers it gives, as `sears_dsl.answers` has them; labels are
            voted on whole, free answers word by word.
        announce: of ``llm:``: called before a round of questions with what it will cost.

    Of several models that answer together, each gets the options that its kind takes. A model that
    this function returned stays as it is, with its store and its memory; it may get another batch
    size.

    Raises:
        UsageError: no such kind of model, no model of that name, options of another kind, or a
            loaded model with another store or for another kind of answers.
        ModelError: the model is there but cannot be loaded.

    Example:
        >>> load_predictor("builtins:sorted").predict([{"text": "positive"}])
        ['positive']
        >>> load_predictor(lambda texts: [len(text) for text in texts]).predict([{"text": "Good."}])
        ['5']
    """
    spec = model if isinstance(model, str) else f"an object of type {type(model).__name__}"
    kind, _, rest = spec.partition(":") if isinstance(model, str) else ("", "", "")
    if isinstance(model, str):
        require_kind(spec)
    options: dict[str, Any] = {
        "batch_size": batch_size, "request_map": request_map, "response_map": response_map,
        "timeout": timeout, "retries": retries, "connections": connections, "on_error": on_error,
        "inputs": inputs, "download": download or None,
    }  # fmt: skip
    options = {name: value for name, value in options.items() if value is not None}
    several = isinstance(model, list | tuple | Mapping)
    if several or kind in ("vote", "every"):
        members = model if isinstance(model, list | tuple | Mapping) else _members(spec)
        together = _together(
            spec, members, options, alike=kind != "vote", store=store, comparison=comparison,
            announce=announce,
        )  # fmt: skip
        # Each member is stored by itself, under its own identity.
        return CachedPredictor(together, comparison=comparison)
    _refuse(options, spec, [kind])
    if isinstance(model, CachedPredictor):
        _check_loaded(model, store, comparison)
        return model if batch_size is None else model.in_batches_of(batch_size)
    if kind == "file":
        store = None
    if not isinstance(model, str):
        own = _predictor_of(model, store, comparison)
        return CachedPredictor(own, store=store, batch_size=batch_size, comparison=comparison)
    predictor: Predictor
    if kind == "llm":
        predictor = language_model(rest, **_waits(options))
    elif kind in _ENDPOINTS:
        predictor = _endpoint(spec, options, comparison)
    else:
        predictor = _local(kind, rest, spec, inputs, download=download, comparison=comparison)
    return CachedPredictor(
        predictor,
        store=store,
        batch_size=batch_size,
        on_error=on_error or "stop",
        # The answers of a language model are text, however they are compared.
        comparison=None if kind == "llm" else comparison,
        announce=announce,
    )


def require_kind(spec: str) -> None:
    """Refuse what cannot be the specification of a model."""
    kind = spec.partition(":")[0]
    capitals = kind not in _ENDPOINTS and kind.lower() in _ENDPOINTS
    if not all(spec.partition(":")) or _ADDRESS.match(spec) or capitals:
        raise UsageError(
            f"{spec!r} does not name a model", help=_meant(spec) or f"write one of {_KINDS}"
        )


def kinds_of(spec: str) -> list[str]:
    """The kinds of the models that a specification names: its own, or those of the members.

    Example:
        >>> kinds_of("every:one=http://127.0.0.1:8080/?a=b,critic:predict")
        ['http', 'critic']
    """
    return [str(_name_and_model(each)[1]).partition(":")[0] for each in members_of(spec)]


def members_of(spec: str) -> list[str]:
    """The members of a specification of several models; any other is its only member."""
    kind, _, rest = spec.partition(":")
    if kind not in ("vote", "every"):
        return [spec]
    return [member.strip() for member in rest.split(",")]


def _members(spec: str) -> list[str]:
    """The members of ``vote:`` or ``every:``, at least two."""
    members = members_of(spec)
    if len(members) < 2 or not all(members):
        raise UsageError(
            f"{spec!r} names fewer than two models",
            help=f"name at least two models: {spec.partition(':')[0]}:SPEC,SPEC",
        )
    if any(member.startswith(("vote:", "every:")) for member in members):
        raise UsageError(f"{spec!r}: a vote cannot vote", help="name all models in one vote")
    return members


def _together(
    spec: str,
    members: Mapping[str, object] | Sequence[object],
    options: Mapping[str, Any],
    *,
    alike: bool,
    store: PredictionStore | None,
    comparison: Comparison,
    announce: Callable[[str], None],
) -> Predictor:
    """Models that answer together; each gets the options that its kind takes."""
    from sears_dsl.models.vote import VotingPredictor  # noqa: PLC0415 - as in `_local`

    named: Mapping[Any, object] = named_models(members) if alike else dict(enumerate(members))
    kinds = [kinds_of(each)[0] if isinstance(each, str) else "" for each in named.values()]
    _refuse(options, spec, kinds)
    if "inputs" in options:
        raise UsageError(
            f"{spec} takes no file of inputs", help="each file of predictions has its own beside it"
        )
    models = [
        load_predictor(
            each,
            store=store,
            comparison=comparison,
            announce=announce,
            **_options_of(options, [kind]),
        )
        for each, kind in zip(named.values(), kinds, strict=True)
    ]
    names = [str(name) for name in named] if alike else []
    return VotingPredictor(models, comparison=comparison, alike=alike, names=names)


def _check_loaded(
    model: CachedPredictor, store: PredictionStore | None, comparison: Comparison
) -> None:
    """Raise where a loaded model would not do as the options say."""
    if store is not None and model.store is not store:
        raise UsageError(
            f"{model.identity} is loaded, and does not keep its predictions in {store.path}",
            help="name the store where you load it, or use no store here",
        )
    own = model.comparison or comparison
    if _kind_of_answers(model, own) != _kind_of_answers(model, comparison):
        raise UsageError(
            f"{model.identity} is loaded for answers that are compared as {model.comparison}, not "
            f"as {comparison}",
            help=f"load it with comparison={comparison!r}, or pass the function or object that you "
            "loaded",
        )


def _kind_of_answers(model: CachedPredictor, comparison: Comparison) -> str:
    """What a model gives by a comparison; labels and free answers are texts, alike but in votes."""
    from sears_dsl.models.vote import VotingPredictor  # noqa: PLC0415 - as in `_local`

    if is_free_text(comparison):
        votes = isinstance(model.predictor, VotingPredictor) and not model.models
        return "words" if votes else "exact"
    return comparison.partition(":")[0]


def _predictor_of(
    model: object, store: PredictionStore | None, comparison: Comparison
) -> Predictor:
    from sears_dsl.models.function import CallablePredictor  # noqa: PLC0415 - as in `_local`

    library = type(model).__module__.partition(".")[0]
    identity = getattr(model, "identity", None)
    if not isinstance(identity, str) or not getattr(model, "has_identity", True):
        identity = None
    if store is not None and identity is None:
        raise UsageError(
            f"predictions of an object of type {type(model).__name__} cannot be kept: nothing "
            "distinguishes it from another one of the same name",
            help="give it an attribute `identity` with the model's version (a predictor of sears: "
            "identity=…), or use no store",
        )
    if library == __name__.partition(".")[0] and isinstance(model, Predictor):
        return model
    if library == "transformers":
        if not hasattr(model, "task"):
            raise UsageError(
                f"an object of type {type(model).__name__} does not read texts",
                help="pass it with its tokenizer: transformers.pipeline('text-classification', "
                "model=model, tokenizer=tokenizer)",
            )
        from sears_dsl.models.huggingface import PipelinePredictor  # noqa: PLC0415

        return PipelinePredictor(model, identity=identity, comparison=comparison)
    # An estimator, also one that only looks like scikit-learn's, may want data frames, and says how
    # sure it is.
    if not isinstance(model, type) and hasattr(model, "predict") and hasattr(model, "fit"):
        from sears_dsl.models.scikit import EstimatorPredictor  # noqa: PLC0415

        return EstimatorPredictor(model, identity=identity, comparison=comparison)
    return CallablePredictor(model, identity=identity, comparison=comparison)


def _local(
    kind: str, rest: str, spec: str, inputs: Path | None, *, download: bool, comparison: Comparison
) -> Predictor:
    # Each kind brings libraries of its own, so its module is imported when it is asked for.
    if kind == "sklearn":
        from sears_dsl.models.scikit import load_estimator  # noqa: PLC0415

        return load_estimator(Path(rest), comparison=comparison)
    if kind == "hf":
        try:
            _check_transformers_model(rest, download=download)
            import_whole("torch")
            from sears_dsl.models.huggingface import load_pipeline  # noqa: PLC0415
        except ImportError as error:
            raise UsageError(
                f"{spec}: transformers and torch are not installed ({error})",
                help="pip install 'sears-dsl[discovery]'",
            ) from error
        return load_pipeline(rest, download=download, comparison=comparison)
    if kind == "file":
        from sears_dsl.models.prediction_file import FilePredictor  # noqa: PLC0415

        return FilePredictor(Path(rest), inputs=inputs, comparison=comparison)
    from sears_dsl.models.function import load_callable  # noqa: PLC0415

    return load_callable(spec, comparison=comparison)


def _meant(spec: str) -> str:
    """What somebody meant by a file's or folder's name, or by ``critic.predict``, as a sentence."""
    path = Path(spec)
    kind, _, rest = spec.partition(":")
    if kind.lower() in _ENDPOINTS:
        return f"for an endpoint, write {kind.lower()}:{rest}"
    if is_file(path) and path.suffix in _PICKLES:
        return f"for a scikit-learn estimator, write sklearn:{spec}"
    if is_folder(path) and is_file(path / _CONFIG):
        return f"for a transformers folder, write hf:{spec}"
    if _ADDRESS.match(spec):
        return f"for an endpoint, write http://{spec}"
    dotted = spec.removesuffix(".py").strip("./").replace("/", ".")
    before, _, last = dotted.rpartition(".")
    for module, function in ((dotted, "predict"), (before, last)):
        file = module.replace(".", "/") + ".py"
        if module and is_file(file):
            return f"for a function in {file}, write {module}:NAME, such as {module}:{function}"
    return ""


def _check_transformers_model(name: str, *, download: bool) -> None:
    """Raise at once where there is no such model: importing transformers takes seconds."""
    if is_folder(name):
        if not Path(name, _CONFIG).is_file():
            raise UsageError(
                f"there is no model in {name}: it has no {_CONFIG}",
                help=f"a folder needs {_CONFIG}, weights and tokenizer, as save_pretrained writes "
                "them",
            )
        return
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415
    from huggingface_hub.errors import HFValidationError  # noqa: PLC0415

    try:
        is_here = isinstance(try_to_load_from_cache(name, _CONFIG), str)
    except HFValidationError:
        is_here = download = False
    if not (is_here or download):
        raise UsageError(
            f"{name} is not a folder, and no model of that name is on this machine",
            help=f"download it first, `hf download {name}`, or name a folder",
        )


def _endpoint(url: str, options: Mapping[str, Any], comparison: Comparison) -> Predictor:
    need_endpoints()
    from sears_dsl.models.http import endpoint  # noqa: PLC0415 - as in `_local`

    request, response = options.get("request_map"), options.get("response_map")
    return endpoint.HttpPredictor(
        url,
        request=None if request is None else endpoint.RequestMap.read(request),
        response=None if response is None else endpoint.ResponseMap.read(response),
        comparison=comparison,
        **_waits(options),
    )


def _waits(options: Mapping[str, Any]) -> Waits:
    names = ("timeout", "retries", "connections")
    return cast("Waits", {name: options[name] for name in names if name in options})


def language_model(
    source: str,
    *,
    prompt: str | None = None,
    labels: Mapping[str, str] | None = None,
    room: int | None = None,
    **waits: Unpack[Waits],
) -> LanguageModel:
    """A language model, by its settings as `PromptSettings.read` takes them.

    The prompt, labels and room count where the settings do not say; the waits always do.
    """
    need_endpoints()
    from sears_dsl.models.http import language_model as llm  # noqa: PLC0415 - as in `_local`

    settings = llm.PromptSettings.read(source, prompt=prompt, labels=labels, room=room)
    return llm.LanguageModel(settings, **waits)


def options_of_each(options: Mapping[str, Any], models: Sequence[str]) -> list[dict[str, Any]]:
    """The options of a command for each of several models: those that its kind takes."""
    kinds = [kinds_of(model) for model in models]
    _refuse(options, ", ".join(models), [kind for of_model in kinds for kind in of_model])
    return [_options_of(options, of_model) for of_model in kinds]


def _options_of(options: Mapping[str, Any], kinds: Sequence[str]) -> dict[str, Any]:
    return {
        name: value for name, value in options.items() if any(_takes(kind, name) for kind in kinds)
    }


def _takes(kind: str, option: str) -> bool:
    kinds = _OPTIONS[option][1]
    return kind not in ("llm", "file") if kinds is None else kind in kinds


def _refuse(options: Iterable[str], spec: str, kinds: Sequence[str]) -> None:
    """Raise where an option is for none of the kinds."""
    for option in options:
        if not any(_takes(kind, option) for kind in kinds):
            name, _, whose = _OPTIONS[option]
            raise UsageError(
                f"{spec} takes no {name}", help=f"leave it out; it is only for {whose}"
            )


_NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)
_FILES = ("sklearn", "hf", "llm", "file")
_LEAST = 2


def named_models(models: Mapping[str, object] | Sequence[object]) -> dict[str, object]:
    """The models by their names: those given, else the shortest that tell them apart."""
    if isinstance(models, Mapping):
        names = [str(name) for name in models]
        members: list[object] = list(models.values())
    else:
        pairs = [_name_and_model(each) for each in models]
        members = [each for _, each in pairs]
        names = [_short(each) if name is None else name for name, each in pairs]
        if len(set(names)) < len(names):
            names = [_whole(each) if name is None else name for name, each in pairs]
    if len(members) < _LEAST:
        few = "there is only one model" if members else "the list of models is empty"
        raise UsageError(few, help="name two or more")
    again = sorted({name for name in names if names.count(name) > 1})
    if again:
        raise UsageError(
            f"two models are called {again[0]}",
            help="give each a name: NAME=SPEC or, in Python, {'name': model, …}",
        )
    return dict(zip(names, members, strict=True))


def _name_and_model(model: object) -> tuple[str | None, object]:
    named = _NAMED.fullmatch(model) if isinstance(model, str) else None
    return (None, model) if named is None else (named[1], named[2])


def _short(model: object) -> str:
    kind, _, rest = _whole(model).partition(":")
    return re.split(r"[/\\]", rest.rstrip("/\\"))[-1] if kind in _FILES else _whole(model)


def _whole(model: object) -> str:
    if isinstance(model, str):
        return model
    name = getattr(model, "__name__", None)
    return name if isinstance(name, str) else type(model).__name__
