"""The command `asterism`: one file a command, each thin, importing late."""

import signal
import sys


def main() -> None:
    """0: done; 2: wrong usage or input, in one clear line; 1: anything else, Ctrl-C among it."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `asterism search … | head` ends as any other command does
    try:
        from .application import run

        code = run()
    except KeyboardInterrupt:  # before the frame that handles it was loaded
        sys.stderr.write("asterism: stopped\n")
        code = 1
    sys.exit(code)
