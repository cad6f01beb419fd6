"""Files as torch.save writes them, with any pickle inside."""

from __future__ import annotations

import zipfile
from pathlib import Path


def archive(file: Path, pickled: bytes, **storages: bytes) -> Path:
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("archive/data.pkl", pickled)
        for key, value in storages.items():
            out.writestr(f"archive/data/{key}", value)
    return file
