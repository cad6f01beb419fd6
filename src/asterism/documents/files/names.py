"""Which format a file has, by its name."""

from __future__ import annotations

from pathlib import PurePosixPath

SUFFIXES = {
    "text": "txt text log",
    "markdown": "md markdown mdown mkd mdx",
    "rst": "rst rest",
    "html": "html htm xhtml xht",
    "csv": "csv",
    "tsv": "tsv tab",
    "json": "json geojson",
    "jsonl": "jsonl ndjson",
    "notebook": "ipynb",
    "pdf": "pdf",
    "docx": "docx docm",
    "pptx": "pptx pptm",
    "xlsx": "xlsx xlsm",
    "epub": "epub",
    "email": "eml",
    "parquet": "parquet",
    "python": "py pyi pyw",
    "c": "c h",
    "c++": "cc cpp cxx hh hpp hxx ipp inl cu cuh",
    "c#": "cs",
    "clojure": "clj cljs cljc",
    "cmake": "cmake",
    "css": "css scss sass less",
    "cython": "pyx pxd pxi",
    "dart": "dart",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "fortran": "f f77 f90 f95 f03 f08",
    "go": "go",
    "groovy": "groovy gradle",
    "haskell": "hs lhs",
    "java": "java",
    "javascript": "js mjs cjs jsx",
    "julia": "jl",
    "kotlin": "kt kts",
    "lisp": "lisp lsp el scm rkt",
    "lua": "lua",
    "makefile": "mk mak",
    "matlab": "m",
    "ocaml": "ml mli",
    "pascal": "pas pp",
    "perl": "pl pm",
    "php": "php",
    "powershell": "ps1 psm1",
    "protobuf": "proto",
    "r": "r",
    "ruby": "rb",
    "rust": "rs",
    "scala": "scala sc",
    "shell": "sh bash zsh fish ksh csh",
    "sql": "sql",
    "svelte": "svelte",
    "swift": "swift",
    "tcl": "tcl",
    "tex": "tex sty cls bib",
    "toml": "toml",
    "typescript": "ts tsx mts cts",
    "vue": "vue",
    "xml": "xml xsd xsl xslt",
    "yaml": "yaml yml",
    "zig": "zig",
}
NAMES = {
    **dict.fromkeys(("authors", "changelog", "changes", "contributing", "copying", "copyright", "history"), "text"),
    **dict.fromkeys(("install", "licence", "license", "news", "notice", "readme", "thanks", "todo"), "text"),
    **dict.fromkeys(("makefile", "gnumakefile"), "makefile"),
    "dockerfile": "shell",
    "cmakelists.txt": "cmake",
    "gemfile": "ruby",
    "rakefile": "ruby",
}
# Documents that people expect to be read: for these the answer is not that they are binary.
WITHOUT_READER = {
    *(
        "doc",
        "ppt",
        "xls",
        "xlsb",
        "odt",
        "odp",
        "ods",
        "rtf",
        "pages",
        "numbers",
        "mobi",
        "azw3",
        "djvu",
        "ps",
        "msg",
        "mbox",
    ),
    *("zip", "tar", "tgz", "7z", "rar", "bz2", "xz", "zst"),
}
ALSO_TEXTS = {"msg"}  # of these, also endings of plain texts: catalogues of messages
WHOLE_FILES = {"text", "markdown", "rst", "html", "csv", "tsv", "json", "jsonl", "notebook"}
RICH = {"pdf", "docx", "pptx", "xlsx", "epub", "email", "parquet"}
CODE = SUFFIXES.keys() - WHOLE_FILES - RICH

_FORMATS = {suffix: format for format, suffixes in SUFFIXES.items() for suffix in suffixes.split()}


def find_format(name: str) -> str | None:
    """The format that a file's name says, also before .gz; None if it says none."""
    plain = drop_gzip(PurePosixPath(name).name.lower())
    return NAMES.get(plain) or _FORMATS.get(find_suffix(plain))


def drop_gzip(name: str) -> str:
    """The name without .gz."""
    return name[:-3] if name.lower().endswith(".gz") else name


def find_suffix(name: str) -> str:
    """What follows the last dot, in small letters; empty if there is none or only one at the beginning."""
    return PurePosixPath(name).suffix.lower().removeprefix(".")


def find_stem(name: str) -> str:
    """What a file without headings is called: its name without endings; that of its folder for __init__.py."""
    path = PurePosixPath(drop_gzip(name))
    return path.parent.name if path.stem == "__init__" and path.parent.name else path.stem
