"""How good rankings are: judged queries, measures, significance."""
