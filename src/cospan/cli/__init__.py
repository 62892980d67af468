"""The command line.

`app` has the commands and their options, `commands` does the work, `gates` judge it, and `terminal`
is where things are printed and how a command ends. Only typer is imported at first: ``cospan
--help`` answers at once.
"""

from cospan.cli.app import app, main

__all__ = ["app", "main"]
