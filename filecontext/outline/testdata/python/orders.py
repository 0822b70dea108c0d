"""Orders of a shop."""
from __future__ import annotations

import asyncio, os.path as osp
import collections.abc
from typing import (
    Generic,
    TypeVar as TV,
)
from . import money
from ..shared.types import *

if TYPE_CHECKING:
    from .store import Store

T = TV("T")
MAX_LINES: int = 200
DEFAULTS = {
    "currency": "EUR",
    "lines": MAX_LINES,
}
logger = logging.getLogger(__name__)
type Pair[A, B] = tuple[A, B]


@dataclass(frozen=True, slots=True)
class Order(Generic[T], metaclass=Meta):
    """One order."""

    id: str
    lines: list[Line[T]] = field(default_factory=list)

    class Status(enum.Enum):
        OPEN = "open"
        DONE = "done"

        @property
        def final(self) -> bool:
            return self is Order.Status.DONE

    def __init__(self, id: str, *lines: Line[T],
                 note: str | None = None, **rest) -> None:
        self.id = id

    @property
    def total(self) -> money.Amount:
        def inner(x):
            return x
        return sum_amounts(line.price for line in self.lines)

    @total.setter
    def total(self, value): ...

    @overload
    def find(self, key: int) -> Line[T]: ...
    @overload
    def find(self, key: str) -> list[Line[T]]: ...
    def find(self, key):
        return lookup_line(self.lines, key)

    @staticmethod
    async def load(store: "Store",  # where from
                   id: str) -> "Order[T]":
        return await store.fetch_order(id)


def größe(werte: list[int], /, *, grenze=3) -> int:
    return max(werte)


try:
    import ujson
except ImportError:
    def dumps(value): return json_fallback(value)
else:
    async def dumps_async(value): return ujson.dumps(value)

async def main():
    async with connect() as c:
        await c.run(lambda row: print(row))

if __name__ == "__main__":
    asyncio.run(main())
