"""Every error that asterism raises on purpose.

AsterismError
├── InputError          (also a ValueError)  vectors, queries or settings that cannot be used
│   ├── VectorsError    shapes, types, NaN
│   └── SettingError    an unknown setting, or a value out of range
└── IndexFolderError    the folder is not what was asked for
    ├── IndexExists     something is already there
    ├── NotAnIndex      nothing that asterism wrote
    ├── NewerFormat     written by a later version
    ├── DamagedIndex    truncated or changed since it was written
    └── IndexBusy       another process is writing
"""

from __future__ import annotations


class AsterismError(Exception):
    """The root: catching it catches everything below."""


class InputError(AsterismError, ValueError):
    """What was given cannot be used."""


class VectorsError(InputError):
    """Vectors of the wrong shape, type or content."""


class SettingError(InputError):
    """A setting that does not exist or is out of range."""


class IndexFolderError(AsterismError):
    """A folder on disk is not what was asked for."""


class IndexExists(IndexFolderError):
    """The path to build at is taken."""


class NotAnIndex(IndexFolderError):
    """The path holds no index."""


class NewerFormat(IndexFolderError):
    """The index was written by a later version of asterism."""


class DamagedIndex(IndexFolderError):
    """The index's files are not as they were written."""


class IndexBusy(IndexFolderError):
    """Another writer holds the index."""
