"""An interpreter for pickles of tensors: strings, numbers, tuples, dicts, lists, and the calls that `grant` allows.

Python's own unpickler allocates as much as a pickle announces, nests without a limit and hashes nested values. This one
has only the operations that torch.save writes, each of which makes one small value, so a pickle of limited size needs
limited memory and time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

LARGEST_PICKLE = 16 << 20  # bytes
MOST_OPERATIONS = 1_000_000  # about 40 per tensor
MOST_ITEMS = 64  # of a tuple

Grant = Callable[[str, str], Callable[..., Any]]  # module, name -> the function to call instead

_MARK = object()
_NUMBERS = {b"J": "<i", b"K": "<B", b"M": "<H", b"G": ">d"}
_CONSTANTS: dict[bytes, Any] = {b"N": None, b"\x88": True, b"\x89": False, b")": ()}
_TEXTS = {b"X": "<I", b"\x8c": "<B"}  # operation -> format of the length
_PUTS = {b"q": "<B", b"r": "<I"}
_GETS = {b"h": "<B", b"j": "<I"}
_TUPLES = {b"\x85": 1, b"\x86": 2, b"\x87": 3}


class PickleRefused(Exception):
    """The pickle is damaged, or does something that tensors do not need."""


class Pickle:
    """One pickle and its stack."""

    def __init__(self, content: bytes, grant: Grant, find_storage: Callable[[Any], Any]) -> None:
        """`find_storage` returns the storage that a persistent id names."""
        if len(content) > LARGEST_PICKLE:
            raise PickleRefused(f"it has {len(content)} bytes, expected at most {LARGEST_PICKLE}")
        self._content, self._place = content, 0
        self._grant, self._find_storage = grant, find_storage
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def load(self) -> Any:
        """The value of the pickle."""
        for _ in range(MOST_OPERATIONS):
            operation = self._take_bytes(1)
            if operation == b".":
                return self._pop()
            self._do(operation)
        raise PickleRefused(f"it has more than {MOST_OPERATIONS} operations")

    def _do(self, operation: bytes) -> None:
        """Run one operation; the most frequent ones come first."""
        stack = self._stack
        if operation in _PUTS:
            self._memo[self._take_number(_PUTS[operation])] = self._peek()
        elif operation in _GETS:
            stack.append(self._recall(self._take_number(_GETS[operation])))
        elif operation in _NUMBERS:
            stack.append(self._take_number(_NUMBERS[operation]))
        elif operation in _TEXTS:
            stack.append(self._take_text(self._take_number(_TEXTS[operation])))
        elif operation in _CONSTANTS:
            stack.append(_CONSTANTS[operation])
        elif operation == b"(":
            stack.append(_MARK)
        elif operation == b"t":
            stack.append(_make_tuple(self._pop_to_mark()))
        elif operation in _TUPLES:
            items = [self._pop() for _ in range(_TUPLES[operation])]
            stack.append(_make_tuple(items[::-1]))
        elif operation == b"R":
            self._call()
        elif operation == b"Q":
            stack.append(self._find_storage(self._pop()))
        else:
            self._do_rare(operation)

    def _do_rare(self, operation: bytes) -> None:
        stack = self._stack
        if operation == b"c":
            stack.append(self._grant(self._take_line(), self._take_line()))
        elif operation == b"\x93":
            name, module = self._pop(), self._pop()
            stack.append(self._grant(str(module), str(name)))
        elif operation in (b"}", b"]"):
            stack.append({} if operation == b"}" else [])
        elif operation in (b"s", b"u"):
            items = self._pop_to_mark() if operation == b"u" else [self._pop(), self._pop()][::-1]
            _fill(self._peek(), items)
        elif operation in (b"a", b"e"):
            items = self._pop_to_mark() if operation == b"e" else [self._pop()]
            _append(self._peek(), items)
        elif operation == b"b":
            self._pop()  # the state of a state dict: versions of its modules, which are not needed
        elif operation == b"\x8a":
            stack.append(int.from_bytes(self._take_bytes(self._take_number("<B")), "little", signed=True))
        elif operation == b"\x94":
            self._memo[len(self._memo)] = self._peek()
        elif operation in (b"\x80", b"\x95"):
            self._take_bytes(1 if operation == b"\x80" else 8)  # the protocol's number, or a frame's length
        else:
            raise PickleRefused(f"operation {operation!r} at byte {self._place - 1} does not describe tensors")

    def _call(self) -> None:
        arguments, function = self._pop(), self._pop()
        if not callable(function) or not isinstance(arguments, tuple):
            raise PickleRefused(f"a call at byte {self._place - 1} of something that is not a function")
        self._stack.append(function(*arguments))

    def _take_bytes(self, count: int) -> bytes:
        found = self._content[self._place : self._place + count]
        if len(found) != count:
            raise PickleRefused("it ends too early")
        self._place += count
        return found

    def _take_number(self, form: str) -> Any:
        return struct.unpack(form, self._take_bytes(struct.calcsize(form)))[0]

    def _take_text(self, length: int) -> str:
        return self._take_bytes(length).decode("utf-8", "surrogatepass")

    def _take_line(self) -> str:
        end = self._content.find(b"\n", self._place)
        return self._take_bytes(max(end - self._place, 0) + 1)[:-1].decode("ascii", "replace")

    def _peek(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            raise PickleRefused("it takes a value from an empty stack")
        return self._stack[-1]

    def _pop(self) -> Any:
        self._peek()
        return self._stack.pop()

    def _recall(self, number: int) -> Any:
        if number not in self._memo:
            raise PickleRefused(f"it has no value with number {number}")
        return self._memo[number]

    def _pop_to_mark(self) -> list[Any]:
        items: list[Any] = []
        while self._stack:
            value = self._stack.pop()
            if value is _MARK:
                return items[::-1]
            items.append(value)
        raise PickleRefused("a mark is missing")


def _make_tuple(items: list[Any]) -> tuple[Any, ...]:
    """A tuple holds plain values and tuples of plain values: the arguments of a tensor, one of which is its shape."""
    nested = [value for item in items if isinstance(item, tuple) for value in item]
    if len(items) > MOST_ITEMS or any(isinstance(value, tuple | list | dict) for value in nested):
        raise PickleRefused(f"a tuple is nested or has more than {MOST_ITEMS} items, which no tensor needs")
    return tuple(items)


def _fill(mapping: Any, items: list[Any]) -> None:
    if not isinstance(mapping, dict) or len(items) % 2 or not all(isinstance(key, str) for key in items[::2]):
        raise PickleRefused("it fills something that is not a mapping of names")
    mapping.update(zip(items[::2], items[1::2], strict=True))


def _append(values: Any, items: list[Any]) -> None:
    if not isinstance(values, list):
        raise PickleRefused("it appends to something that is not a list")
    values.extend(items)
