"""The command line.

`app` has the commands and their options. `comparing`, `commands` and `demo` do the work, `gates`
judge it, `places` says where it may be written, and `terminal` where things are
printed and how a command ends. Only typer is imported at first: ``cospan --help`` answers at once.
"""

from cospan.cli.app import app, main

__all__ = ["app", "main"]
