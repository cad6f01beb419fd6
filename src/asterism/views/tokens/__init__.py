"""Token vectors: one matrix a document, scored by late interaction."""
