"""Files of an index: written so that a crash leaves the old state or the new one, read as if anybody had."""
