"""Training sets that the tests make, and how they compare them."""

from __future__ import annotations

from hypothesis import strategies as st

from asterism.training.example_lines import LARGEST_SCORE
from asterism.training.examples import Example, TrainingSet

Plain = tuple[str, list[str], list[str], dict[str, float]]

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
TEXTS = TEXTS.filter(lambda text: bool(text.strip()))


def in_texts(training: TrainingSet) -> list[Plain]:
    """Every example with texts in place of numbers."""
    return [
        (
            training.queries[example.query],
            [training.passages[number] for number in example.positives],
            [training.passages[number] for number in example.negatives],
            {training.passages[number]: score for number, score in example.scores.items()},
        )
        for example in training.examples
    ]


@st.composite
def training_sets(draw: st.DrawFn) -> TrainingSet:
    """Up to six examples over up to eight passages, none of which is a query."""
    passages = draw(st.lists(TEXTS, min_size=1, max_size=8, unique=True))
    queries = draw(st.lists(TEXTS.filter(lambda text: text not in passages), min_size=1, max_size=4, unique=True))
    examples = []
    for _ in range(draw(st.integers(1, 6))):
        order = draw(st.permutations(range(len(passages))))
        positives = draw(st.integers(1, len(order)))
        numbers = order[: draw(st.integers(positives, len(order)))]
        finite = st.floats(-LARGEST_SCORE, LARGEST_SCORE)
        scores = {number: draw(finite) for number in numbers} if draw(st.booleans()) else {}
        query = draw(st.integers(0, len(queries) - 1))
        examples.append(Example(query, tuple(numbers[:positives]), tuple(numbers[positives:]), scores))
    return TrainingSet(queries, passages, examples)
