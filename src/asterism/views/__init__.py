"""The views of documents, each with its own segments and searcher."""
