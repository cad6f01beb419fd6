"""`asterism export-model MODEL DIR`: a model as a folder that another library loads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from .options import Quiet, describe_argument, describe_option
from .output import print_note, print_row
from .progress import show_waiting

Model = Annotated[str, describe_argument("MODEL", "The folder of a model in asterism's layout, or its name.")]
To = Annotated[Path, describe_argument("DIR", "The new folder.")]
Layout = Annotated[
    str, describe_option("--layout", help="Which library's: sentence-transformers or pylate.", default=True)
]


def export_model(model: Model, to: To, layout: Layout = "sentence-transformers", quiet: Quiet = False) -> None:
    """Write a model's token vectors, or a cross-encoder, as a folder of sentence-transformers 6 or PyLate."""
    from ..encoders.checkpoints import exporting
    from ..encoders.loading import find_model_folder

    with show_waiting(f"exporting {model}", quiet):
        left_out = exporting.export_model(find_model_folder(model), to, layout)
    if left_out:
        print_note(f"without {' and '.join(left_out)}: the layout has token vectors only", quiet)
    print_row(to)
