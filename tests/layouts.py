"""Small random checkpoints in exactly the file formats of the published ones.

Weights come from the raw stream of PCG64, which never changes, so that the golden outputs stay valid.
"""

from __future__ import annotations

import hashlib
import io
import json
import string
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

HIDDEN, LAYERS, HEADS, INNER = 32, 4, 4, 64
WORDS = """
    the a of and to in is for on with how do i run function every few seconds light speed measure first who query
    document vector token index search answer question time list python file read write open close data model
    train test over under quick brown fox jumps lazy dog ing ed er s un re
""".split()  # noqa: SIM905

TEXTS = [
    "How do I run a function every few seconds?",
    "Who first measured the speed of light, and when?",
    "",
    "   ",
    "fox!!! ... (dog)",
    "The quick brown fox jumps over the lazy dog. " * 6,
    "Ünïcode — naïve café, 東京 and \U0001f98a foxes",
    "a",
]


def numbers(name: str, shape: tuple[int, ...], scale: float = 0.3) -> np.ndarray:
    """Uniform in ±scale, the same for the same name."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    raw = np.random.PCG64(seed).random_raw(int(np.prod(shape)) or 1)
    return (((raw >> np.uint64(40)).astype(np.float64) / 2**23 - 1) * scale).astype(np.float32).reshape(shape)


def write_json(file: Path, value: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, indent=1), encoding="utf-8")


# Tokenizers -----------------------------------------------------------------------------------------------------------


def wordpiece(folder: Path, added: tuple[str, ...] = ()) -> int:
    """The tokenizer files of bert-base-uncased; returns the number of ids."""
    special = ["[PAD]", "[unused0]", "[unused1]", "[unused2]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = string.ascii_lowercase + string.digits
    pieces = [*special, *string.punctuation, *letters, *(f"##{c}" for c in letters), *(w for w in WORDS if len(w) > 1)]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    ids = [(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ids)
    tokenizer.add_special_tokens([token for token in special if not token.startswith("[unused")])
    tokenizer.add_tokens(list(added))
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]"}
    names["mask_token"] = "[MASK]"
    write_json(folder / "special_tokens_map.json", names)
    config = {"tokenizer_class": "BertTokenizer", "model_max_length": 512, **names}
    write_json(folder / "tokenizer_config.json", config)
    return tokenizer.get_vocab_size(with_added_tokens=True)


def unigram(folder: Path, roberta: bool) -> int:
    """The tokenizer files of XLM-RoBERTa or T5; returns the number of ids."""
    special = ["<s>", "<pad>", "</s>", "<unk>"] if roberta else ["<pad>", "</s>", "<unk>"]
    pieces = [f"▁{word}" for word in WORDS] + WORDS + ["▁", *string.ascii_letters, *string.digits, *string.punctuation]
    unique = list(dict.fromkeys(pieces))
    vocabulary = [(piece, 0.0) for piece in special]
    vocabulary += [(piece, -2.0 - 0.01 * number) for number, piece in enumerate(unique)]
    if roberta:
        vocabulary.append(("<mask>", 0.0))
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=special.index("<unk>")))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    if roberta:
        ids = [("<s>", 0), ("</s>", 2)]
        tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>", ids)
    else:
        tokenizer.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)])
    tokenizer.add_special_tokens(special + (["<mask>"] if roberta else []))
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    if roberta:
        names |= {"bos_token": "<s>", "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
    write_json(folder / "special_tokens_map.json", names)
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 128, **names}
    write_json(folder / "tokenizer_config.json", config)
    return tokenizer.get_vocab_size(with_added_tokens=True)


# Transformers ---------------------------------------------------------------------------------------------------------


def bert_weights(vocabulary: int, positions: int, types: int, prefix: str = "", pooler: bool = True) -> dict[str, Any]:
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (vocabulary, HIDDEN),
        "embeddings.position_embeddings.weight": (positions, HIDDEN),
        "embeddings.token_type_embeddings.weight": (types, HIDDEN),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            shapes |= {f"{at}{part}.weight": (HIDDEN, HIDDEN), f"{at}{part}.bias": (HIDDEN,)}
        shapes |= {f"{at}intermediate.dense.weight": (INNER, HIDDEN), f"{at}intermediate.dense.bias": (INNER,)}
        shapes |= {f"{at}output.dense.weight": (HIDDEN, INNER), f"{at}output.dense.bias": (HIDDEN,)}
        norms += [f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm"]
    if pooler:
        shapes |= {"pooler.dense.weight": (HIDDEN, HIDDEN), "pooler.dense.bias": (HIDDEN,)}
    weights = {prefix + name: numbers(name, shape) for name, shape in shapes.items()}
    for norm in norms:
        weights[f"{prefix}{norm}.weight"] = 1 + numbers(f"{norm}.weight", (HIDDEN,))
        weights[f"{prefix}{norm}.bias"] = numbers(f"{norm}.bias", (HIDDEN,))
    return weights


def bert_config(vocabulary: int, positions: int = 256, kind: str = "bert", **more: Any) -> dict[str, Any]:
    config = {
        "model_type": kind,
        "architectures": ["BertModel" if kind == "bert" else "XLMRobertaModel"],
        "vocab_size": vocabulary,
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": INNER,
        "hidden_act": "gelu",
        "max_position_embeddings": positions,
        "type_vocab_size": 2 if kind == "bert" else 1,
        "layer_norm_eps": 1e-12 if kind == "bert" else 1e-5,
        "pad_token_id": 0 if kind == "bert" else 1,
    }
    if kind != "bert":
        config |= {"bos_token_id": 0, "eos_token_id": 2}
    return config | more


def t5_weights(vocabulary: int, gated: bool) -> dict[str, Any]:
    shapes: dict[str, tuple[int, ...]] = {
        "shared.weight": (vocabulary, HIDDEN),
        "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight": (32, HEADS),
    }
    norms = ["encoder.final_layer_norm.weight"]
    for layer in range(LAYERS):
        at = f"encoder.block.{layer}.layer."
        shapes |= {f"{at}0.SelfAttention.{part}.weight": (HIDDEN, HIDDEN) for part in "qkvo"}
        shapes |= {
            f"{at}1.DenseReluDense.{part}.weight": (INNER, HIDDEN) for part in (("wi_0", "wi_1") if gated else ("wi",))
        }
        shapes[f"{at}1.DenseReluDense.wo.weight"] = (HIDDEN, INNER)
        norms += [f"{at}0.layer_norm.weight", f"{at}1.layer_norm.weight"]
    weights = {name: numbers(name, shape) for name, shape in shapes.items()}
    return weights | {norm: 1 + numbers(norm, (HIDDEN,)) for norm in norms}


# Layouts --------------------------------------------------------------------------------------------------------------


def save_weights(file: Path, weights: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: np.ascontiguousarray(value) for name, value in weights.items()}, str(file), {"format": "pt"})


def text(value: str) -> bytes:
    """A string as pickle writes it."""
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def number(value: int) -> bytes:
    """A whole number as pickle writes it."""
    return b"J" + struct.pack("<i", value)


def save_torch(file: Path, tensors: dict[str, np.ndarray]) -> None:
    """What torch.save writes for a state dict: a zip of a pickle and raw storages."""
    out = io.BytesIO()
    out.write(b"\x80\x02ccollections\nOrderedDict\n)R(")
    for key, (name, tensor) in enumerate(tensors.items()):
        steps = [int(np.prod(tensor.shape[axis + 1 :])) for axis in range(tensor.ndim)]
        storage = text("storage") + b"ctorch\nFloatStorage\n" + text(str(key)) + text("cpu") + number(tensor.size)
        out.write(text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n((" + storage + b"tQ" + number(0))
        for extents in (tensor.shape, steps):
            out.write(b"(" + b"".join(number(extent) for extent in extents) + b"t")
        out.write(b"\x89ccollections\nOrderedDict\n)RtR")
    out.write(b"u.")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", out.getvalue())
        archive.writestr("archive/byteorder", "little")
        for key, tensor in enumerate(tensors.values()):
            archive.writestr(f"archive/data/{key}", np.ascontiguousarray(tensor, np.float32).tobytes())
        archive.writestr("archive/version", "3\n")


def bge_m3(folder: Path) -> Path:
    size = unigram(folder, roberta=True)
    write_json(folder / "config.json", bert_config(size, 130, "xlm-roberta"))
    weights = bert_weights(size, 130, 1)
    save_torch(folder / "pytorch_model.bin", weights)
    for name, rows in (("colbert_linear", HIDDEN), ("sparse_linear", 1)):
        shapes = {"weight": (rows, HIDDEN), "bias": (rows,)}
        head = {part: numbers(name + part, shape) for part, shape in shapes.items()}
        if name == "sparse_linear":
            head["bias"] = np.full(1, 1.5, np.float32)  # so that about half of the terms pass the ReLU, not none
        save_torch(folder / f"{name}.pt", head)
    return folder


METADATA = {
    "query_maxlen": 32,
    "doc_maxlen": 40,
    "dim": 16,
    "mask_punctuation": True,
    "attend_to_mask_tokens": False,
    "query_token_id": "[unused0]",
    "doc_token_id": "[unused1]",
    "query_token": "[Q]",
    "doc_token": "[D]",
    "similarity": "cosine",
}


def colbert(folder: Path, **metadata: Any) -> Path:
    size = wordpiece(folder)
    write_json(folder / "config.json", bert_config(size, architectures=["HF_ColBERT"]))
    weights = bert_weights(size, 256, 2, "bert.") | {"linear.weight": numbers("linear", (16, HIDDEN))}
    save_weights(folder / "model.safetensors", weights)
    write_json(folder / "artifact.metadata", METADATA | metadata)
    return folder


def constbert(folder: Path) -> Path:
    colbert(folder, doc_maxlen=50)
    weights = bert_weights(wordpiece(folder), 256, 2, "bert.") | {"linear.weight": numbers("linear", (16, HIDDEN))}
    weights |= {"doc_project.weight": numbers("doc_project", (8, 50)), "doc_project.bias": numbers("doc_bias", (8,))}
    save_weights(folder / "model.safetensors", weights)
    return folder


def xtr(folder: Path, gated: bool = True) -> Path:
    size = unigram(folder, roberta=False)
    config = {
        "model_type": "t5",
        "architectures": ["T5EncoderModel"],
        "vocab_size": size,
        "d_model": HIDDEN,
        "num_layers": LAYERS,
        "num_heads": HEADS,
        "d_kv": HIDDEN // HEADS,
        "d_ff": INNER,
        "relative_attention_num_buckets": 32,
        "relative_attention_max_distance": 128,
        "feed_forward_proj": "gated-gelu" if gated else "relu",
        "layer_norm_epsilon": 1e-6,
        "pad_token_id": 0,
        "eos_token_id": 1,
    }
    write_json(folder / "config.json", config)
    save_weights(folder / "model.safetensors", t5_weights(size, gated))
    identity = {"in_features": HIDDEN, "out_features": 8, "bias": False}
    identity["activation_function"] = "torch.nn.modules.linear.Identity"
    write_json(folder / "2_Dense" / "config.json", identity)
    save_torch(folder / "2_Dense" / "pytorch_model.bin", {"linear.weight": numbers("dense", (8, HIDDEN))})
    return folder


def _modules(folder: Path, *types: tuple[str, str]) -> None:
    entries = [
        {"idx": number, "name": str(number), "path": path, "type": kind} for number, (path, kind) in enumerate(types)
    ]
    (folder / "modules.json").write_text(json.dumps(entries), encoding="utf-8")


def pylate(folder: Path) -> Path:
    size = wordpiece(folder, ("[Q] ", "[D] "))
    write_json(folder / "config.json", bert_config(size))
    save_weights(folder / "model.safetensors", bert_weights(size, 256, 2))
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 15, "do_lower_case": False})
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text())
    write_json(folder / "tokenizer_config.json", tokenizer | {"model_max_length": 15})  # as after a query and a save
    _modules(folder, ("", "sentence_transformers.models.Transformer"), ("1_Dense", "pylate.models.Dense.Dense"))
    settings = {"in_features": HIDDEN, "out_features": 16, "bias": False, "use_residual": False}
    settings["activation_function"] = "torch.nn.modules.linear.Identity"
    write_json(folder / "1_Dense" / "config.json", settings)
    save_weights(folder / "1_Dense" / "model.safetensors", {"linear.weight": numbers("dense", (16, HIDDEN))})
    settings = {
        "__version__": {"sentence_transformers": "5.3.0", "transformers": "5.3.0", "pytorch": "2.11.0"},
        "model_type": "ColBERT",
        "prompts": {},
        "default_prompt_name": None,
        "similarity_fn_name": "MaxSim",
        "query_prefix": "[Q] ",
        "document_prefix": "[D] ",
        "query_length": 16,
        "document_length": 40,
        "attend_to_expansion_tokens": False,
        "skiplist_words": list(string.punctuation),
        "do_query_expansion": True,
    }
    write_json(folder / "config_sentence_transformers.json", settings)
    return folder


def multi_vector_modules(folder: Path) -> Path:
    """The folder that sentence-transformers 6 writes for a MultiVectorEncoder."""
    size = wordpiece(folder, ("[Q] ", "[D] "))
    write_json(folder / "config.json", bert_config(size))
    save_weights(folder / "model.safetensors", bert_weights(size, 256, 2))
    base = "sentence_transformers."
    mask = f"{base}multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"
    _modules(
        folder,
        ("", f"{base}base.modules.transformer.Transformer"),
        ("1_Dense", f"{base}base.modules.dense.Dense"),
        ("2_Dense", f"{base}base.modules.dense.Dense"),
        ("3_MultiVectorMask", mask),
        ("4_Normalize", f"{base}base.modules.normalize.Normalize"),
    )
    names = {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"}
    activation = {"activation_function": "torch.nn.modules.activation.GELU"}
    wide = {"in_features": HIDDEN, "out_features": 24, "bias": True, "use_residual": True, **activation, **names}
    write_json(folder / "1_Dense" / "config.json", wide)
    tensors = {"linear.weight": (24, HIDDEN), "linear.bias": (24,), "residual.weight": (24, HIDDEN)}
    save_weights(folder / "1_Dense" / "model.safetensors", {n: numbers("d1" + n, s) for n, s in tensors.items()})
    activation = {"activation_function": "torch.nn.modules.linear.Identity"}
    narrow = {"in_features": 24, "out_features": 16, "bias": False, **activation, **names}
    write_json(folder / "2_Dense" / "config.json", narrow)
    save_weights(folder / "2_Dense" / "model.safetensors", {"linear.weight": numbers("d2", (16, 24))})
    words = {"skiplist_words": [".", ",", "!"], "skiplist_tasks": ["document"], "keep_only_token_ids": None}
    write_json(folder / "3_MultiVectorMask" / "config.json", words)
    write_json(folder / "4_Normalize" / "config.json", names)
    expansion = {"strategy": "fixed", "attend": True, "token": None, "length": 16}
    own = {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings"}
    own["modality_config"] = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
    write_json(folder / "sentence_bert_config.json", own | {"document_length": 40, "query_expansion": expansion})
    settings = {
        "__version__": {"sentence_transformers": "6.2.0", "transformers": "5.22.2", "pytorch": "2.13.0"},
        "model_type": "MultiVectorEncoder",
        "prompts": {"query": "[Q] ", "document": "[D] "},
        "default_prompt_name": None,
        "similarity_fn_name": "maxsim",
    }
    write_json(folder / "config_sentence_transformers.json", settings)
    return folder


def sentence_transformer(folder: Path, pooling: str = "mean") -> Path:
    size = wordpiece(folder)
    write_json(folder / "config.json", bert_config(size))
    save_weights(folder / "model.safetensors", bert_weights(size, 256, 2))
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 40, "do_lower_case": False})
    base = "sentence_transformers.models."
    _modules(
        folder,
        ("", f"{base}Transformer"),
        ("1_Pooling", f"{base}Pooling"),
        ("2_Dense", f"{base}Dense"),
        ("3_Normalize", f"{base}Normalize"),
    )
    modes = {f"pooling_mode_{mode}": mode.startswith(pooling) for mode in ("cls_token", "mean_tokens", "max_tokens")}
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": HIDDEN, **modes})
    settings = {"in_features": HIDDEN, "out_features": 16, "bias": True}
    settings["activation_function"] = "torch.nn.modules.activation.Tanh"
    write_json(folder / "2_Dense" / "config.json", settings)
    tensors = {"linear.weight": numbers("dense", (16, HIDDEN)), "linear.bias": numbers("bias", (16,))}
    save_weights(folder / "2_Dense" / "model.safetensors", tensors)
    prompts = {"prompts": {"query": "query: ", "document": "document: "}, "default_prompt_name": None}
    write_json(folder / "config_sentence_transformers.json", prompts)
    return folder


def cross_encoder(folder: Path, roberta: bool = False) -> Path:
    label = {"num_labels": 1, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    if roberta:
        size = unigram(folder, roberta=True)
        kind = ["XLMRobertaForSequenceClassification"]
        write_json(folder / "config.json", bert_config(size, 130, "xlm-roberta", architectures=kind, **label))
        weights = bert_weights(size, 130, 1, "roberta.", pooler=False)
        shapes = {"classifier.dense.weight": (HIDDEN, HIDDEN), "classifier.dense.bias": (HIDDEN,)}
        shapes |= {"classifier.out_proj.weight": (1, HIDDEN), "classifier.out_proj.bias": (1,)}
    else:
        size = wordpiece(folder)
        kind = ["BertForSequenceClassification"]
        write_json(folder / "config.json", bert_config(size, 64, architectures=kind, **label))
        weights = bert_weights(size, 64, 2, "bert.")
        shapes = {"classifier.weight": (1, HIDDEN), "classifier.bias": (1,)}
    save_weights(folder / "model.safetensors", weights | {name: numbers(name, shape) for name, shape in shapes.items()})
    return folder


def emb_cross_encoder(folder: Path) -> Path:
    """Our own layout: three markers, score = dot product of states."""
    size = wordpiece(folder)
    write_json(folder / "config.json", bert_config(size, 64))
    save_weights(folder / "model.safetensors", bert_weights(size, 64, 2))
    pair = {"markers": ["[unused0]", "[unused1]", "[unused2]"]}
    write_json(folder / "asterism.json", {"format": 1, "backbone": {"folder": "."}, "pair": pair})
    return folder


def cls_cross_encoder(folder: Path, layers: list[Any]) -> Path:
    """Our own layout with layers over [CLS], named `inner` (hidden to hidden) and `score` (hidden to 1)."""
    size = wordpiece(folder)
    write_json(folder / "config.json", bert_config(size, 64))
    save_weights(folder / "model.safetensors", bert_weights(size, 64, 2))
    shapes = {"inner.weight": (HIDDEN, HIDDEN), "inner.bias": (HIDDEN,), "score.weight": (1, HIDDEN)}
    save_weights(folder / "heads.safetensors", {name: numbers(name, shape) for name, shape in shapes.items()})
    pair = {"length": 48, "layers": layers}
    write_json(folder / "asterism.json", {"format": 1, "backbone": {"folder": "."}, "pair": pair})
    return folder


def full_constant_pooling(folder: Path) -> Path:
    """Our own layout with the paper's full matrix: 12 positions of 16 dimensions to 4 vectors."""
    size = wordpiece(folder)
    write_json(folder / "config.json", bert_config(size))
    save_weights(folder / "model.safetensors", bert_weights(size, 256, 2))
    heads = {"projection.weight": numbers("projection", (16, HIDDEN)), "constant.weight": numbers("full", (64, 192))}
    heads |= {"lexical.weight": numbers("lexical", (1, HIDDEN)), "lexical.bias": numbers("lexical_bias", (1,))}
    save_weights(folder / "heads.safetensors", heads)
    settings = {
        "format": 1,
        "backbone": {"folder": "."},
        "document": {"length": 12, "expand_to": 12, "filler": "[PAD]", "windows": False},
        "query": {"length": 32},
        "dense": {"pooling": "cls", "layers": ["unit_length"]},
        "lexical": {"layer": {"linear": "lexical", "activation": "relu"}, "dropped": ["[CLS]", "[SEP]"]},
        "multi_vector": {
            "layers": [{"linear": "projection"}, "unit_length"],
            "pooling": {"linear": "constant", "positions": 12},
        },
    }
    write_json(folder / "asterism.json", settings)
    return folder


def linear_heads(folder: Path, **sections: Any) -> Path:
    """Our own layout with markers and two linear layers, which other libraries can express; `sections` replace."""
    size = wordpiece(folder)
    write_json(folder / "config.json", bert_config(size))
    save_weights(folder / "model.safetensors", bert_weights(size, 256, 2))
    shapes = {"wide.weight": (24, HIDDEN), "wide.bias": (24,), "narrow.weight": (16, 24)}
    save_weights(folder / "heads.safetensors", {name: numbers(name, shape) for name, shape in shapes.items()})
    query = {"length": 16, "marker": "[unused0]", "expand_to": 16, "filler": "[MASK]", "windows": False}
    settings = {
        "format": 1,
        "backbone": {"folder": "."},
        "document": {"length": 40, "marker": "[unused1]", "skipped": list(string.punctuation)},
        "query": query,
        "multi_vector": {
            "layers": [{"linear": "wide", "activation": "gelu"}, {"linear": "narrow"}, "unit_length"],
        },
    }
    write_json(folder / "asterism.json", settings | sections)
    return folder
