"""Folders of XTR."""

from __future__ import annotations

from pathlib import Path

import asterism
from tests import layouts


def test_a_sentence_t5_is_no_xtr(tmp_path: Path) -> None:
    folder = layouts.xtr(tmp_path / "model")
    assert asterism.load_encoder(folder).describe()["family"] == "xtr"
    wide = {"in_features": 32, "out_features": 32, "bias": False}
    wide["activation_function"] = "torch.nn.modules.linear.Identity"
    layouts.write_json(folder / "2_Dense" / "config.json", wide)
    layouts.save_torch(folder / "2_Dense" / "pytorch_model.bin", {"linear.weight": layouts.numbers("d", (32, 32))})
    layouts.write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
    kinds = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"), ("3_Normalize", "Normalize"))
    listed = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds]
    layouts.write_json(folder / "modules.json", listed)
    assert asterism.load_encoder(folder).describe()["family"] == "sentence-transformers"
