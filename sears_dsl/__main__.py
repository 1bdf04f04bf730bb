"""``python -m sears_dsl``: the same as ``sears``, where its folder is not on the path."""

import os
import sys


def _run() -> None:
    # Python puts the current folder before all others, where a file may be called `click.py`; for
    # `sears` it is not on the path at all, until a model in it is named.
    if sys.path and os.path.realpath(sys.path[0] or ".") == os.path.realpath("."):
        sys.path.append(sys.path.pop(0))
    from sears_dsl.cli import main  # noqa: PLC0415 - once the path is right

    main()


if __name__ == "__main__":
    _run()
