"""Folders of ordinary files: which files they have, which are left out and why, and the bytes of one file."""
