"""Describes an index, for `info`."""

from __future__ import annotations

from typing import Any

from ..collection.base import Base
from ..collection.collection import Collection
from ..collection.kept_views import Views
from ..collection.snapshot import Snapshot
from .profiling import read_profile


def describe_index(collection: Collection, views: Views) -> dict[str, Any]:
    """Size, shape and model."""
    snapshot, model = collection.snapshot(), collection.facts("model")
    settings = model.get("settings")  # absent if the collection was created without a model's settings
    return {
        "path": str(collection.path),
        "documents": snapshot.state.documents,
        "deleted": len(snapshot.numbers) - snapshot.state.documents,
        "views": list(views.names),
        **_describe_tokens(snapshot, views, model.get("dimensions", 0)),
        "terms": views.lexical,
        "k1": None if views.counting is None else views.counting.k1,
        "b": None if views.counting is None else views.counting.b,
        "language": views.counting.language if views.counting is not None and views.lexical == "words" else None,
        "segments": len(snapshot.segments),
        "bytes": collection.bytes(),
        "model": model.get("name"),
        "precision": settings.get("precision") if isinstance(settings, dict) else None,
    }


def _describe_tokens(snapshot: Snapshot, views: Views, dimensions: int) -> dict[str, Any]:
    """Facts about the token vectors; zeros if there are none."""
    build, codec = views.multi, snapshot.codec
    if build is None:
        return {"vectors": 0, "dimensions": 0, "storage": "none", "bits": 0, "centroids": 0, "drift": 1.0}
    flat = codec is None or codec.untrained
    return {
        "vectors": sum(stored.tokens for stored in snapshot.segments),
        "dimensions": codec.codec.dimensions if codec else dimensions,
        "storage": "floats, searched exactly" if flat else f"{build.bits} bits per dimension",
        "bits": build.bits,
        "centroids": 0 if codec is None or flat else len(codec.codec.centroids),
        "drift": round(Base.from_snapshot(snapshot).drift(), 3),
    }


def describe_profile(collection: Collection) -> dict[str, Any]:
    """What was measured without judgements; None for what was not.

    readable: the share of the text that the model can read; found: by view, the share of sentences that find the
    document they were taken from.
    """
    profile = read_profile(collection)
    if profile is None or not profile.pairs:
        return {"readable": None, "found": None}
    found = {view: round(one.found, 3) for view, one in profile.views.items()}
    return {"readable": round(profile.readable, 3), "found": found}
