"""Files from unknown sources, read safely; files and folders that are written whole or not at all."""
