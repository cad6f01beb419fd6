"""A recipe: all settings of a training run, read from a TOML file.

[model]      what is trained                 (training/settings.py)
[loss]       what is minimised
[run]        how
[data]       examples, and the part that is kept for evaluation
[negatives]  where hard negatives and a teacher's scores come from
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from ..errors import InputError, SettingError
from ..files.regular_files import read_regular
from ..settings import Settings, check_choice, check_number, check_whole_number, suggest_name
from ..training.negatives import Mining
from ..training.settings import PairModelSettings, TrainingSettings, find_sections

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Ranking = Literal["", "lexical", "dense", "colbert", "hybrid"]
RECIPES = Path(__file__).parent
LARGEST_FILE = 1 << 20


@dataclass(frozen=True)
class DataSettings(Settings):
    """Examples.

    train         BEIR folders, or jsonl files with query, pos, neg (pos_scores, neg_scores)
    split         of the BEIR folders
    most_examples take at most so many, with the passages that they name; 0 for all
    dev_share     of the queries, kept apart to choose the best weights; 0 for none
    dev_queries, dev_passages   at most so many are ranked in an evaluation; a cross-encoder has candidates instead
    """

    train: tuple[str, ...] = ()
    split: str = "train"
    most_examples: int = 0
    dev_share: float = 0.02
    dev_queries: int = 300
    dev_passages: int = 2000

    def __post_init__(self) -> None:
        """Check every value."""
        self.check_types()
        paths = [self.train] if isinstance(self.train, str) else self.train
        if not isinstance(paths, list | tuple) or not all(isinstance(path, str) and path for path in paths):
            raise SettingError(f"train is {self.train!r}, expected a list of paths")
        object.__setattr__(self, "train", tuple(paths))
        object.__setattr__(self, "dev_share", check_number("dev_share", self.dev_share, 0, 0.5))
        for name, least in (("most_examples", 0), ("dev_queries", 1), ("dev_passages", 1)):
            object.__setattr__(self, name, check_whole_number(name, getattr(self, name), least))


@dataclass(frozen=True)
class NegativeSettings(Settings):
    """Hard negatives, found by a search for each query.

    ranking   the method that finds them: "lexical", "dense", "colbert", "hybrid"; "" for none but those in the data
    model     of dense, colbert and hybrid
    count     kept for each query; `run.negatives` of them take part in a step
    depth     how many passages are looked at, and `skip` best ones left out
    margin    a candidate must score this much below the worst positive by the teacher, else it may be relevant
    teacher   whose scores are kept: "hybrid" for the fused score of an index with `model`, or a model by name or folder
    """

    ranking: Ranking = ""
    model: str = "all-MiniLM-L6-v2"
    count: int = 7
    depth: int = 50
    skip: int = 0
    margin: float | None = None
    teacher: str = ""

    def __post_init__(self) -> None:
        """Check every value."""
        self.check_types()
        check_choice("ranking", self.ranking, get_args(Ranking))
        for name, least in (("count", 1), ("depth", 1), ("skip", 0)):
            object.__setattr__(self, name, check_whole_number(name, getattr(self, name), least, 10_000))
        if self.margin is not None and not self.teacher:
            raise SettingError("margin needs a teacher: set negatives.teacher")
        object.__setattr__(self, "margin", self.mining.margin)

    @property
    def mining(self) -> Mining:
        """The part of it that chooses passages of a ranking."""
        return Mining(self.count, self.depth, self.skip, self.margin)


@dataclass(frozen=True)
class Recipe(Settings):
    """A training run, apart from where its result goes."""

    training: TrainingSettings = field(default_factory=TrainingSettings)
    data: DataSettings = field(default_factory=DataSettings)
    negatives: NegativeSettings = field(default_factory=NegativeSettings)

    def __post_init__(self) -> None:
        """Refuse sections that contradict each other."""
        run, loss = self.training.run, self.training.loss
        if isinstance(self.training.model, PairModelSettings):
            if not run.negatives:
                raise SettingError(
                    "run.negatives is 0, but a cross-encoder learns only from a query's own passages, expected at "
                    "least 1: set run.negatives"
                )
            if run.refresh_every:
                raise SettingError(
                    f"run.refresh_every is {run.refresh_every}, but a cross-encoder cannot search all passages for "
                    "negatives, expected 0"
                )
        if run.negatives:
            return
        for name, value in (
            ("negatives.ranking", self.negatives.ranking),
            ("run.refresh_every", run.refresh_every),
            ("loss.distillation", loss.distillation),
        ):
            if value:
                raise SettingError(
                    f"run.negatives is 0, so that {name} = {value!r} would change nothing, expected at least 1: "
                    "set run.negatives"
                )

    @property
    def sections(self) -> dict[str, Settings]:
        """By name, as in the file."""
        training = {one.name: getattr(self.training, one.name) for one in fields(self.training)}
        return {**training, "data": self.data, "negatives": self.negatives}

    def change(self, section: str, **values: Any) -> Recipe:
        """The recipe with other values in a section."""
        return from_sections({**self.sections, section: _replace(section, self.sections[section], values)})


def from_sections(sections: Mapping[str, Any]) -> Recipe:
    """By name, as in the file."""
    training = TrainingSettings(sections["model"], sections["loss"], sections["run"])
    return Recipe(training, sections["data"], sections["negatives"])


def read_recipe(path: str | Path, changes: Sequence[str] = ()) -> Recipe:
    """A recipe from a file, or by the name of one that comes with asterism, with changes such as "run.rate=1e-4"."""
    file = find_recipe(path)
    try:
        content = tomllib.loads(read_regular(file, LARGEST_FILE, links=True).decode())
    except (OSError, ValueError, RecursionError) as error:  # of bytes, TOML, and numbers of thousands of digits
        raise SettingError(f"{file} cannot be read as a recipe: {error}") from error
    try:
        for change in changes:
            section, name, value = _parse_change(change)
            if isinstance(content.setdefault(section, {}), dict):  # else from_tables says what is wrong
                content[section][name] = value
        return from_tables(content)
    except SettingError as error:
        raise SettingError(f"{file}: {error}") from error


def find_recipe(path: str | Path) -> Path:
    """An existing file, else a recipe of asterism by its name."""
    if os.path.isfile(path):  # a folder of that name is probably the model that was trained by it
        return Path(path)
    named = RECIPES / f"{Path(path).stem}.toml"
    if str(path) in (named.stem, named.name) and os.path.isfile(named):
        return named
    raise SettingError(
        f"there is no file {str(path)[:100]}, expected one, or a recipe's name: {', '.join(list_recipes())}"
    )


def list_recipes() -> list[str]:
    """The names of the recipes that come with asterism."""
    return sorted(file.stem for file in RECIPES.glob("*.toml"))


def from_tables(content: Mapping[str, Any]) -> Recipe:
    """From the tables of a TOML file; each is checked as a whole."""
    model, loss = find_sections(_find_form(content.get("model")))
    sections = {**Recipe().sections, "model": model(), "loss": loss()}
    for section, values in content.items():
        if section not in sections:
            raise SettingError(f"a recipe has no section {section!r}: {suggest_name(section, list(sections))}")
        if not isinstance(values, Mapping):
            raise SettingError(f"{section} is {values!r}, expected a section with settings")
        sections[section] = _replace(section, sections[section], values)
    return from_sections(sections)


def _find_form(model: Any) -> Any:
    """What the table [model] says about the kind of the model, which decides on the settings of [model] and [loss]."""
    return model.get("form", "tokens") if isinstance(model, Mapping) else "tokens"


def _replace(section: str, settings: Settings, values: Mapping[str, Any]) -> Settings:
    """The settings of a section with other values."""
    known = vars(settings)
    for name in values:
        if name not in known:
            raise SettingError(f"[{section}] has no setting {name!r}: {suggest_name(name, list(known))}")
    try:
        return type(settings)(**{**known, **values})
    except (InputError, TypeError) as error:
        raise SettingError(f"[{section}] {error}") from error


def _parse_change(change: str) -> tuple[str, str, Any]:
    """A change such as run.rate=1e-4 -> section, name, value; the value is TOML, or a text without quotes."""
    key, equals, text = change.partition("=")
    section, dot, name = key.strip().partition(".")
    if not equals or not dot:
        raise SettingError(f"{change!r} was given as a change, expected SECTION.NAME=VALUE, e.g. run.rate=1e-4")
    try:
        return section, name, tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return section, name, text
    except (ValueError, RecursionError) as error:
        raise SettingError(f"{change[:60]!r} has a value that cannot be read: {error}") from error
