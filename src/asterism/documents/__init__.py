"""Documents and queries: checked values, and how they are read."""
