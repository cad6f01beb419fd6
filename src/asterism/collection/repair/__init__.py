"""Making a damaged collection whole."""
