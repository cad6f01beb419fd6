"""Reading checkpoints of every published layout into one value, Checkpoint."""
