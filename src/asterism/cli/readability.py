"""What to tell about how much of a text the model can read."""

from __future__ import annotations

GOOD = 0.9  # English with an English model has 0.91 and more
POOR = 0.5  # other scripts have 0.33 and less, other languages in Latin letters 0.73 to 0.89


def describe_readable(readable: float) -> str:
    """One line: the share, and what it means for the answers."""
    said = f"the model can read {readable:.0%} of the text"
    if readable >= GOOD:
        return said
    if readable >= POOR:
        return f"{said}: hybrid search relies on it less; a model that knows the language would find more"
    return f"{said}: hybrid search relies on words; dense, colbert and xtr need a model that knows the language"


def warn_of_unreadable(readable: float | None) -> str | None:
    """The same line if it is a reason to worry; None if all is well or nothing is known."""
    return describe_readable(readable) if readable is not None and readable < GOOD else None
