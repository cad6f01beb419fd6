"""Every error that asterism raises on purpose, and its one warning, QueryCut.

AsterismError
├── InputError          (also a ValueError)  vectors, texts, names or settings that cannot be used
│   ├── VectorsError    shapes, types, NaN
│   ├── TextError       a text that is not a string, is empty or is too long
│   ├── SettingError    an unknown setting, or a value out of range
│   ├── UnknownModel    neither a folder nor a known name
│   ├── ModelDiffers    not the model that an index was built with
│   ├── DocumentError   a document, or a line of input, that cannot be used
│   │   ├── UnreadableFile  a file of which no passages can be made
│   │   └── BadFiles        files of a folder that cannot be read, all at once
│   ├── FilterError     a metadata filter that cannot be used
│   └── UnknownDocument an id that the index does not have
├── CheckpointError     a model's files do not follow their layout
├── EncodingError       the runtime failed on some texts
├── DownloadError       a model's files could not be fetched, or are not the right ones
├── TrainingError       a training run cannot go on
│   └── OtherRun        the folder belongs to a run with other settings or data
├── ScorerError         a scorer failed on a query and a text
├── MissingPackage      an optional package is needed
├── DiskFull            a file outside an index cannot be written, because the disk has no room
└── IndexFolderError    the folder cannot be used
    ├── IndexExists     the path is taken
    ├── NotAnIndex      nothing that asterism wrote
    ├── NewerFormat     written by a later version
    ├── DamagedIndex    truncated or changed since it was written
    └── IndexBusy       another process is writing
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_MESSAGE = 1000  # characters


def _make_line(message: str) -> str:
    """The message on one line, of bounded length."""
    line = " ".join(message.split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]} …"


class AsterismError(Exception):
    """The root: catching it catches everything below."""

    code = "asterism-error"
    """What programs tell errors apart by: every class has its own, and it never changes. Messages may change."""

    def to_json(self) -> dict[str, dict[str, str]]:
        """The object `error` of results/schema.json."""
        return {"error": {"code": self.code, "message": str(self)}}


class InputError(AsterismError, ValueError):
    """An argument or an input that cannot be used."""

    code = "bad-input"


class VectorsError(InputError):
    """Vectors of the wrong shape, type or content."""

    code = "bad-vectors"


class TextError(InputError):
    """A text that cannot be encoded."""

    code = "bad-text"


class SettingError(InputError):
    """A setting that does not exist or is out of range."""

    code = "bad-setting"


class UnknownModel(InputError):
    """A model that is neither a folder nor a name of the registry."""

    code = "unknown-model"


class DocumentError(InputError):
    """A document, or a line of input, that cannot be used."""

    code = "bad-document"


class UnreadableFile(DocumentError):
    """A file of which no passages can be made."""

    code = "unreadable-file"

    REASONS = ("binary", "encoding", "damaged", "too large", "needs extra", "not known")

    def __init__(self, reason: str, message: str) -> None:
        """`reason` is one of REASONS; the message, which may quote the file, becomes one line of bounded length."""
        super().__init__(_make_line(message))
        self.reason = reason

    def __reduce__(self) -> tuple[type[UnreadableFile], tuple[str, str]]:
        """Pickle both arguments: another process may have read the file."""
        return type(self), (self.reason, str(self))


class BadFiles(DocumentError):
    """Files of a folder that cannot be read; `files` has each with its reason."""

    code = "bad-files"

    def __init__(self, files: Sequence[tuple[str, str]]) -> None:
        """The message names the first of them."""
        file, why = files[0]
        more = f", and {len(files) - 1:,} more" if len(files) > 1 else ""
        message = f"{file}: {why}{more}: expected files that can be read; nothing was changed"
        super().__init__(_make_line(message))
        self.files = tuple(files)

    def __reduce__(self) -> tuple[type[BadFiles], tuple[tuple[tuple[str, str], ...]]]:
        """Pickle the files, of which the message is made."""
        return type(self), (self.files,)


class FilterError(InputError):
    """A metadata filter that cannot be used."""

    code = "bad-filter"


class UnknownDocument(InputError):
    """An id that the index does not have."""

    code = "unknown-document"


class ModelDiffers(InputError):
    """A model that is not the one an index was built with."""

    code = "model-differs"


class _QuotingError(AsterismError):
    """An error that quotes files or a library's messages: its own message stays one line of bounded length."""

    def __init__(self, message: str) -> None:
        super().__init__(_make_line(message))


class CheckpointError(_QuotingError):
    """A checkpoint's files do not follow their layout."""

    code = "bad-checkpoint"


class EncodingError(_QuotingError):
    """The runtime failed on some texts."""

    code = "encoding-failed"


class DownloadError(AsterismError):
    """A model's files could not be fetched, or are not those that were expected."""

    code = "download-failed"


class TrainingError(AsterismError):
    """A training run that cannot go on, or a checkpoint of it that cannot be used."""

    code = "training-failed"


class OtherRun(TrainingError):
    """A folder that belongs to a training run with other settings, other data or another model."""

    code = "other-run"


class ScorerError(_QuotingError):
    """A scorer failed on a query and a text."""

    code = "scorer-failed"


class MissingPackage(AsterismError):
    """An optional package is not installed."""

    code = "missing-package"


class DiskFull(AsterismError):
    """The disk has no room for a file that is no part of an index."""

    code = "disk-full"


class IndexFolderError(_QuotingError):
    """A folder that cannot be used."""

    code = "bad-index-folder"


class IndexExists(IndexFolderError):
    """The path to build at is taken."""

    code = "index-exists"


class NotAnIndex(IndexFolderError):
    """The path holds no index."""

    code = "not-an-index"


class NewerFormat(IndexFolderError):
    """The index was written by a later version of asterism."""

    code = "newer-format"


class DamagedIndex(IndexFolderError):
    """The index's files were truncated or changed since they were written."""

    code = "damaged-index"


class IndexBusy(IndexFolderError):
    """Another writer holds the index."""

    code = "index-busy"


class QueryCut(UserWarning):
    """A query was too long for the views of an index: only its beginning was searched."""
