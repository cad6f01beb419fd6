"""Documents and their views in one folder."""
