"""Training of late-interaction models: what they learn from, and how."""
