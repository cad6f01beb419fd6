"""What a search returns: rankings and explanations, and runs in TREC's file format."""

from .trec_runs import Explanation, Hit, Match, Ranking, Share, read_trec_run, write_trec_run

__all__ = ["Explanation", "Hit", "Match", "Ranking", "Share", "read_trec_run", "write_trec_run"]
