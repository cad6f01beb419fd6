"""What a search returns: rankings and explanations, their JSON form, and runs in TREC's file format."""

from .explanation import Explanation, Match, Share
from .ranking import Hit, Ranking
from .trec_runs import read_trec_run, write_trec_run

__all__ = ["Explanation", "Hit", "Match", "Ranking", "Share", "read_trec_run", "write_trec_run"]
