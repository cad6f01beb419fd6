"""Shared by the experiments: lines in plots side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Plot:
    """Named lines, each a sequence of x and one of y."""

    title: str
    x: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    logarithmic: bool = False
    from_zero: bool = False


def draw_plots(plots: Sequence[Plot], to: Path) -> None:
    """Side by side, in a PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(plots), figsize=(4.5 * len(plots), 3.4), squeeze=False)
    for axis, plot in zip(axes[0], plots, strict=True):
        for name, (x, y) in plot.lines.items():
            axis.plot(x, y, marker="." if len(x) < 20 else "", label=name)
        axis.set_title(plot.title)
        axis.set_xlabel(plot.x)
        if plot.logarithmic:
            axis.set_xscale("log", base=2)
        if plot.from_zero:
            axis.set_ylim(0)
        axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(to, dpi=120)
    pyplot.close(figure)
