"""Pictures that rows name: whether they can be read, and how they are shown and sent.

In: the path of a picture. Out: what is wrong with it, a small copy for a page, or its bytes as text
for an endpoint. Always holds: only raster formats are read. A picture is decoded and encoded anew
before it is shown, so that nothing but the pixels of a stranger's file reaches a page.
Each check or copy costs decoding the picture once.
"""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from sears_dsl.errors import DataError, UsageError
from sears_dsl.runtime.files import is_file

if TYPE_CHECKING:
    from PIL.Image import Image

#: Separates choices that stand in one text.
BETWEEN_CHOICES = "|"

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
_SIDE = 160


def need_pictures() -> None:
    """Raise `UsageError` unless Pillow, which decodes pictures, is installed."""
    try:
        import PIL  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise UsageError(
            "pictures need Pillow, which is not installed", help="pip install 'sears-dsl[visual]'"
        ) from error


def picture_problem(path: str) -> str:
    """Why a picture cannot be read; empty where it can.

    Example:
        >>> picture_problem("no-such-picture.png")
        'there is no such file'
    """
    try:
        decoded_picture(path)
    except DataError as error:
        return error.message
    return ""


def shown_picture(path: str, *, side: int = _SIDE) -> bytes:
    """A PNG for a page, its longer side ``side`` pixels long; a small picture is enlarged.

    A transparent one lies on white.
    """
    from PIL import Image  # noqa: PLC0415 - an extra

    image = decoded_picture(path, on_white=True)
    scale = side / max(image.size)
    size = tuple(max(1, round(length * scale)) for length in image.size)
    resampling = Image.Resampling.NEAREST if scale > 1 else Image.Resampling.LANCZOS
    output = BytesIO()
    image.resize((size[0], size[1]), resampling).save(output, "PNG")
    return output.getvalue()


def picture_address(path: str) -> str:
    """A copy as a data URL, for the ``img`` of a page that stands alone; empty if unreadable."""
    if not is_file(path):
        return ""
    file = Path(path).absolute()
    state = file.stat()
    try:
        return _address(str(file), state.st_mtime_ns, state.st_size)
    except DataError:
        return ""


@lru_cache(maxsize=4096)
def _address(path: str, _changed: int, _size: int) -> str:
    return "data:image/png;base64," + b64encode(shown_picture(path)).decode()


def encoded_picture(path: str) -> str:
    """The bytes of a picture's file in base64."""
    try:
        return b64encode(Path(path).read_bytes()).decode()
    except OSError as error:
        raise DataError(f"the picture {path} cannot be read: {error.strerror}") from error


def decoded_picture(path: str, *, on_white: bool = False) -> Image:
    """The pixels of a picture, in red, green and blue.

    Without `on_white`, the pixels of a transparent picture have the colour that its file gives
    them, which models see and most often is black.
    """
    from PIL import Image  # noqa: PLC0415 - an extra

    if not is_file(path):
        raise DataError("there is no such file")
    try:
        with Image.open(path, formats=_FORMATS) as image:
            if on_white and ("A" in image.getbands() or "transparency" in image.info):
                white = Image.new("RGBA", image.size, "white")
                white.alpha_composite(image.convert("RGBA"))
                return white.convert("RGB")
            return image.convert("RGB")
    # Decoders raise all kinds of errors over a broken file.
    except Exception as error:
        raise DataError("it is not a picture that can be read") from error
