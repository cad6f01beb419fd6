"""How good a ranking is: judged queries, measures, significance."""
