"""Files of an index: a crash leaves the old state or the new one, and nothing read from disk is trusted."""
