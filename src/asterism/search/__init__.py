"""From representations to results: plans, fusion and explanations."""
