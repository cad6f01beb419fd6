"""Search by a scorer that is expensive to ask: CUR factorisation and adaptive rounds."""
