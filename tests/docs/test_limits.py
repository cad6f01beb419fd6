"""Limits and policies that the documents state are those of the code."""

from __future__ import annotations

import pytest

from asterism import settings
from asterism.collection import filter_parsing, segment_maker
from asterism.collection.policy import Policy
from asterism.documents import document
from asterism.documents.files import chunking, html, notebooks, packing, pdf, unzipping
from asterism.documents.folders import taking
from asterism.files import bounded_lines
from asterism.views.lexical import writer as lexical_writer

from .documents import ROOT

POLICY = Policy()
STATED = [
    ("quickstart.md", f"passages of up to {chunking.Chunking().tokens} tokens"),
    ("quickstart.md", f"a string of up to {document.LONGEST_ID} characters"),
    (
        "quickstart.md",
        f"up to {document.MOST_VALUES:,} values and {document.MOST_CHARACTERS // 10**6} million characters",
    ),
    (
        "quickstart.md",
        f"can have {bounded_lines.LONGEST_LINE >> 20} MiB unzipped, any other file {taking.LARGEST_FILE >> 20} MiB",
    ),
    ("howto.md", f"batches of up to {POLICY.batch_documents} documents"),
    ("howto.md", f"(about {POLICY.batch_characters >> 20} million characters)"),
    ("howto.md", f"the last {POLICY.filters_kept} are kept"),
    ("howto.md", f"up to {filter_parsing.MOST_VALUES:,} values and {filter_parsing.MOST_CONDITIONS:,} conditions"),
    ("howto.md", f"(`author.name`) up to {document.LONGEST_NAME:,} characters"),
    ("howto.md", f"Below {POLICY.flat_tokens:,} vectors"),
    ("howto.md", f"index of up to {POLICY.verified_bytes >> 30} GB"),
    ("howto.md", f"A passage has up to {chunking.Chunking().tokens} tokens"),
    ("howto.md", f"whole up to {packing.WHOLE} times the limit"),
    ("howto.md", f"the first {notebooks.LONGEST_OUTPUT:,} characters of an output"),
    ("howto.md", f"more than {unzipping.MOST_BYTES >> 20} MiB unzipped"),
    ("howto.md", f"a page of more than {html.LONGEST_PARSED:,} characters"),
    ("howto.md", f"a PDF that takes longer than {pdf.MOST_SECONDS} seconds"),
    ("format.md", f"leaves {POLICY.flat_tokens:,} vectors or more"),
    ("format.md", f"2^{POLICY.most_flat_tokens.bit_length() - 1} vectors at the latest"),
    ("format.md", f"whenever there are {POLICY.most_segments} segments"),
    ("format.md", f"drift is {POLICY.drifted} or more"),
    ("format.md", f"up to about {segment_maker.SAMPLED:,} evenly spaced vectors"),
    ("format.md", f"up to {POLICY.verified_catalog >> 20} MB (2^22 bytes)"),
    ("format.md", f"from {POLICY.graph_documents:,} documents on"),
    ("format.md", f"k1 = {settings.K1}, b = {settings.B}"),
    ("../README.md", f"Below {POLICY.flat_tokens:,} vectors nothing is clustered"),
    ("../README.md", f"compares all below {POLICY.graph_documents:,} documents"),
]


@pytest.mark.parametrize(("name", "phrase"), STATED)
def test_stated(name: str, phrase: str) -> None:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert phrase in " ".join(text.split())


def test_shares() -> None:
    """Those that a document writes in words."""
    text = " ".join((ROOT / "docs" / "format.md").read_text(encoding="utf-8").split())
    assert (lexical_writer.LONG_SHARE, "at least a sixteenth of the documents" in text) == (16, True)
    assert (POLICY.outgrown, "eight times as many vectors" in text) == (8, True)
