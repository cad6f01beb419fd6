"""The command `asterism`: one thin file a command. Imports happen in the functions, so that --help is fast."""

import os
import signal
import sys

from .output import print_error

INTERRUPTED = 130  # 128 + the number of the signal, as in shells


def main() -> None:
    """Exit codes: 0 done; 2 wrong usage or input, in one clear line; 130 stopped by Ctrl-C; 1 anything else."""
    _open_closed_streams()
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # so that `asterism search … | head` ends quietly
    try:
        from .application import run

        code = run()
    except KeyboardInterrupt:  # while the frame that handles it was loading
        print_error("stopped")
        code = INTERRUPTED
    sys.exit(code)


def _open_closed_streams() -> None:
    """Redirect streams that the caller closed to /dev/null.

    Otherwise the next file gets the stream's number, and what a library prints to stderr ends up in an index.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
