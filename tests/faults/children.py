"""Runs under file_faults.c: a forked child is killed, or finds the disk full, at a chosen file operation."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable

from asterism.errors import IndexFolderError

REPORTED = 7  # exit code of a child that raised one of our errors
NEVER = -1
FAULTS = ctypes.CDLL(None)


def in_child(work: Callable[[], object], at: int, mode: str) -> tuple[int, int]:
    """The exit code (or -signal) and the number of file operations before it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            FAULTS.faults_arm(ctypes.c_long(at), ord(mode))
            try:
                work()
                code = 0
            except IndexFolderError as error:
                code = REPORTED if len(str(error).splitlines()) == 1 else 1
            count = FAULTS.faults_count()
            FAULTS.faults_arm(ctypes.c_long(NEVER), 0)
            os.write(writer, str(count).encode())
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        count = pipe.read()
    _, status = os.waitpid(child, 0)
    return (-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)), int(count or 0)
