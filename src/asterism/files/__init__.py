"""Files that anyone may have written: opened, bounded, parsed."""
