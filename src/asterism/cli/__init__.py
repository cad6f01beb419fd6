"""The command `asterism`: one file a command, each thin, importing late."""

from .main import main

__all__ = ["main"]
