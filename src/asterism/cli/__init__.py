"""The command `asterism`: one file a command, each thin, importing late."""

import os
import signal
import sys

from .output import print_error

INTERRUPTED = 130  # 128 and the number of the signal, as shells have it


def main() -> None:
    """0: done; 2: wrong usage or input, in one clear line; 130: stopped by Ctrl-C; 1: anything else."""
    _open_closed_streams()
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `asterism search … | head` ends as any other command does
    try:
        from .application import run

        code = run()
    except KeyboardInterrupt:  # before the frame that handles it was loaded
        print_error("stopped")
        code = INTERRUPTED
    sys.exit(code)


def _open_closed_streams() -> None:
    """Give a stream that the caller closed to /dev/null.

    Otherwise the next file that is opened gets its number, and what a library writes to stderr goes into an index.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
