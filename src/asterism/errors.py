"""Every error that asterism raises on purpose.

AsterismError
├── InputError          (also a ValueError)  vectors, texts, names or settings that cannot be used
│   ├── VectorsError    shapes, types, NaN
│   ├── TextError       a text that is no text
│   ├── SettingError    an unknown setting, or a value out of range
│   ├── UnknownModel    neither a folder nor a known name
│   ├── ModelDiffers    not the model that an index was built with
│   ├── DocumentError   a document, or a line of input, that cannot be used
│   ├── FilterError     a metadata filter that cannot be used
│   └── UnknownDocument an id that the index does not have
├── CheckpointError     a model's files are not as their layout says
├── EncodingError       the runtime failed on some texts
├── DownloadError       a model's files could not be had, or are not the right ones
├── MissingPackage      an optional package is needed
└── IndexFolderError    the folder is not what was asked for
    ├── IndexExists     something is already there
    ├── NotAnIndex      nothing that asterism wrote
    ├── NewerFormat     written by a later version
    ├── DamagedIndex    truncated or changed since it was written
    └── IndexBusy       another process is writing
"""

from __future__ import annotations

LONGEST_MESSAGE = 1000  # characters


class AsterismError(Exception):
    """The root: catching it catches everything below."""


class InputError(AsterismError, ValueError):
    """What was given cannot be used."""


class VectorsError(InputError):
    """Vectors of the wrong shape, type or content."""


class TextError(InputError):
    """A text that cannot be encoded."""


class SettingError(InputError):
    """A setting that does not exist or is out of range."""


class UnknownModel(InputError):
    """A model that is neither a folder nor a name of the registry."""


class DocumentError(InputError):
    """A document, or a line of input, that cannot be used."""


class FilterError(InputError):
    """A metadata filter that cannot be used."""


class UnknownDocument(InputError):
    """An id that the index does not have."""


class ModelDiffers(InputError):
    """A model that is not the one an index was built with."""


class _QuotingError(AsterismError):
    """One that quotes what others wrote, files or messages of a library: it stays one line of bounded length."""

    def __init__(self, message: str) -> None:
        line = " ".join(message.split())
        super().__init__(line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]} …")


class CheckpointError(_QuotingError):
    """A checkpoint's files are not as their layout says."""


class EncodingError(_QuotingError):
    """The runtime failed while it was working on texts."""


class DownloadError(AsterismError):
    """A model's files could not be fetched, or are not those that were expected."""


class MissingPackage(AsterismError):
    """Something optional is not installed."""


class IndexFolderError(_QuotingError):
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
