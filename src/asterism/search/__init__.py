"""What happens between representations and results."""
