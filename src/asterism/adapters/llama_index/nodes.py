"""Nodes of LlamaIndex and documents of an index.

A document has a node's id, its text, and as title what LlamaIndex would embed before the text: the metadata that are
not excluded. Its metadata are the node's, and under one more key what else a node has, such as its relationships.
"""

from __future__ import annotations

import json
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from ...documents.document import Document
from ...errors import DocumentError
from ..metadata import collect_metadata

KEPT = "_llama_index"  # the key of what else a node has
NODE_ID = f"{KEPT}.id"  # fields of filters
SOURCE_ID = f"{KEPT}.source"
CONTENT, TYPE = "_node_content", "_node_type"  # names in LlamaIndex's own form of a node


def to_document(node: BaseNode) -> Document:
    """A node, whose embedding does not matter -> the document that is encoded and stored."""
    if KEPT in node.metadata:
        raise DocumentError(f"node {node.node_id!r}: its metadata have the key {KEPT!r}, which is ours: rename it")
    stored = node_to_metadata_dict(node, remove_text=True)
    content = json.loads(stored[CONTENT])
    metadata = content.pop("metadata")
    source = {} if node.ref_doc_id is None else {"source": node.ref_doc_id}
    kept = {"id": node.node_id, **source, "type": stored[TYPE], "node": json.dumps(content, ensure_ascii=False)}
    return Document(
        node.node_id,
        node.get_content(metadata_mode=MetadataMode.NONE),
        node.get_metadata_str(mode=MetadataMode.EMBED),
        {**metadata, KEPT: kept},
    )


def to_node(document: Document) -> BaseNode:
    """The node that a document was; a document of another origin becomes one whose source is itself."""
    if is_own_source(document):
        source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document.id)}
        metadata = collect_metadata(document)
        return TextNode(id_=document.id, text=document.text, metadata=metadata, relationships=source)
    node = _read_node(document.id, document.text, document.metadata[KEPT])
    node.id_ = document.id
    node.metadata = {name: value for name, value in document.metadata.items() if name != KEPT}
    return node


def is_own_source(document: Document) -> bool:
    """Whether a document became no part of the index by way of a node, and so is its own source."""
    return not isinstance(document.metadata.get(KEPT), dict)


def _read_node(id: str, text: str, kept: dict[str, Any]) -> BaseNode:
    """What LlamaIndex makes of its own form; the index may be a stranger's."""
    try:
        return metadata_dict_to_node({CONTENT: kept["node"], TYPE: kept["type"]}, text)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DocumentError(
            f"document {id!r}: its metadata under {KEPT!r} are no node of LlamaIndex ({type(error).__name__}), "
            "expected what its vector store wrote: add the node again"
        ) from error
