"""Rich's console, safe for text from anywhere."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from .output import make_visible


class SafeConsole(Console):
    """Shows strings as they are: no markup, no emoji names, no highlighting, no control characters."""

    def __init__(self, *, stderr: bool = False) -> None:
        """On stdout or stderr."""
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Make every piece of text safe; the console's own control codes are marked as such and pass."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=make_visible(segment.text))
