"""``python -m sears_dsl``: the same as ``sears``, where its folder is not on the path."""

from sears_dsl.cli import main

if __name__ == "__main__":
    main()
