"""The command line: `mixpul --help`."""

from mixpul.cli.app import app, main

__all__ = ["app", "main"]
