"""The retriever: combines encoders and collections to index and search texts."""

from .add_counts import AddCounts
from .backup import Backup
from .factorised_index import FactorisedIndex
from .many_indexes import ManyIndexes, open_many
from .retriever import Retriever
from .syncing.report import SyncReport

__all__ = ["AddCounts", "Backup", "FactorisedIndex", "ManyIndexes", "Retriever", "SyncReport", "open_many"]
