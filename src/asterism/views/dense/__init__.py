"""Dense vectors: one a document."""
