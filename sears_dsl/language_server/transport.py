r"""Messages of the Language Server Protocol: JSON after a header that says how long it is.

In: a stream of bytes. Out: messages as dictionaries, and back. Always holds: `read_message` takes
exactly one message from the stream; a header or a body that is none is an error that tells what
came instead, and after a body that is none the stream stands at the next message. Costs one copy of
the message.
"""

from __future__ import annotations

import json
from typing import Any, BinaryIO, TypeAlias

from sears_dsl.errors import DataError
from sears_dsl.runtime.documents import parse_json

Message: TypeAlias = dict[str, Any]

_MOST_BYTES = 64 * 1024 * 1024
_LONGEST_LINE = 4096


class BodyError(DataError):
    """A message that came whole and is none; the next one may be."""


def read_message(stream: BinaryIO) -> Message | None:
    r"""The next message; None at the end of the stream.

    Raises:
        BodyError: what comes is no message; one may come after it.
        DataError: what comes is no message, and where the next one begins is not to be known.

    Example:
        >>> from io import BytesIO
        >>> read_message(BytesIO(b'Content-Length: 17\r\n\r\n{"method":"exit"}'))
        {'method': 'exit'}
    """
    length = _announced_length(stream)
    if length is None:
        return None
    body = stream.read(length)
    if len(body) < length:
        raise _no_message(f"{length} bytes were announced, {len(body)} came")
    try:
        message = parse_json(body)
    except ValueError as error:
        raise _no_message(f"the body is no JSON: {error}", BodyError) from error
    if not isinstance(message, dict):
        raise _no_message("the body is no object", BodyError)
    return message


def _announced_length(stream: BinaryIO) -> int | None:
    length: int | None = None
    first = True
    while line := stream.readline(_LONGEST_LINE):
        if not line.strip():
            if length is None:
                raise _no_message("the header does not say Content-Length")
            return length
        first = False
        name, _, value = line.decode("ascii", "replace").partition(":")
        if name.strip().lower() == "content-length":
            if not value.strip().isdecimal() or int(value) > _MOST_BYTES:
                raise _no_message(f"Content-Length is {value.strip()!r}")
            length = int(value)
    if first:
        return None
    raise _no_message("the stream ended inside of a header")


def _no_message(why: str, kind: type[DataError] = DataError) -> DataError:
    return kind(
        f"no message of the Language Server Protocol: {why}",
        help="`sears lsp` is started by an editor and talks over standard input and output",
    )


def write_message(stream: BinaryIO, message: Message) -> None:
    r"""Write one message.

    Example:
        >>> from io import BytesIO
        >>> stream = BytesIO()
        >>> write_message(stream, {"method": "exit"})
        >>> stream.getvalue()
        b'Content-Length: 18\r\n\r\n{"method": "exit"}'
    """
    body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    stream.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    stream.flush()
