"""Repairs a damaged collection."""
