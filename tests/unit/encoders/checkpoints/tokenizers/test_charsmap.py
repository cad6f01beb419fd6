"""How much longer a precompiled character map can make a text."""

from __future__ import annotations

import base64

from tokenizers import normalizers

from asterism.encoders.checkpoints.tokenizers.charsmap import compute_map_growth

from .tokenizer_files import CHARSMAP, precompiled


def test_the_growth_of_a_map() -> None:
    """Counted as the library does it."""
    for found in ({97: b"x" * 50}, {97: b"b", 98: b"yy" * 20}, {0xC3: b"z" * 30}):
        raw = base64.b64decode(precompiled(found))
        normalizer = normalizers.Precompiled(raw)
        made = {byte: normalizer.normalize_str(chr(byte)) for byte in found if byte < 128}
        assert all(made[byte].encode() == found[byte] for byte in made)
        assert compute_map_growth(precompiled(found)) == max(map(len, found.values()))
    assert compute_map_growth(CHARSMAP) == 11
    assert compute_map_growth(precompiled({})) == 1
