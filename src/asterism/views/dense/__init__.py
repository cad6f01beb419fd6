"""Dense vectors: one per document."""
