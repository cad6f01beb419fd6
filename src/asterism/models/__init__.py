"""Named models: where they come from, and how they are downloaded and verified."""
