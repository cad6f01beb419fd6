"""Keeps an index in step with folders: what it remembers of their files, what changed, and the commits that follow."""
