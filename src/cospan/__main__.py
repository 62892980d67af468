"""``python -m cospan``, and the console script: the command line, or why it cannot start."""

import sys


def main() -> None:
    """Start the command line."""
    try:
        from cospan.cli import main as start
    except ImportError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        from cospan.errors import missing

        sys.exit(f"error: {missing('the command line', error.name)}")
    start()


if __name__ == "__main__":
    main()
