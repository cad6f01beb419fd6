"""Documents and queries: checked values, and readers of files."""
