"""Rich's console without what text from anywhere could do in it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from .output import visible


class SafeConsole(Console):
    """Shows strings as they are: no markup, no names of emoji, no highlighting, no control characters."""

    def __init__(self, *, stderr: bool = False) -> None:
        """On stdout or stderr."""
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Every piece of text on its way to the terminal; the console's own commands to it are marked as such."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
