"""Recall by the budget of calls: a row of plots for each cross-encoder, a plot for each k."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def draw_curves(found: dict[str, Any], settings: dict[str, Any], to: Path) -> None:
    """Methods with anchors are shown with the most of them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    counts, most = settings["search"]["k"], max(settings["queries"]["anchors"])
    figure, axes = pyplot.subplots(
        len(found), len(counts), figsize=(3.6 * len(counts), 3.2 * len(found)), squeeze=False, sharex=True
    )
    for row, (name, one) in zip(axes, found.items(), strict=True):
        for axis, k in zip(row, counts, strict=True):
            for method in dict.fromkeys(each["method"] for each in one["figures"]):
                shown = [each for each in one["figures"] if each["method"] == method and each["anchors"] in (0, most)]
                values = [each["recall"][k] for each in shown]
                line = "--" if method.startswith("rerank") else "-"
                axis.plot([each["budget"] for each in shown], values, line, marker=".", label=method)
            axis.set_title(f"{name}: top-{k} recall")
            axis.set_xlabel("calls of the cross-encoder")
            axis.set_ylim(0, 102)
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(to, dpi=120)
