"""Named models: where they come from, and how they are fetched and verified."""
