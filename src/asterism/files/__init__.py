"""Safe reading of files from unknown sources: opening, size limits, parsing."""
