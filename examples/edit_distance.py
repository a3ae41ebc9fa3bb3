"""The edit distance of two texts, as it stands in the textbook: loops over single elements of a table's row.

The row is changed where it lies, no position needs a check, and both loops are one kernel. So it may be written as it
is thought, without a whole row at a time.

Run it: python examples/edit_distance.py
"""

from __future__ import annotations

import time

import intaglio as ig


def distance(a: ig.Tensor, b: ig.Tensor) -> ig.Tensor:
    """How many letters of `a` are put in, taken out or changed to make `b` (R. Wagner, M. Fischer, 1974)."""

    def row_of(i: ig.Tensor, row: ig.Tensor) -> ig.Tensor:
        def cell(j: ig.Tensor, carried: tuple[ig.Tensor, ig.Tensor]) -> tuple[ig.Tensor, ig.Tensor]:
            row, corner = carried  # the corner is the old row's element on the left
            above = row[j + 1]
            changed = corner + ig.where(a[i] == b[j], 0, 1)
            best = ig.minimum(changed, ig.minimum(above, row[j]) + 1)
            return row.at[j + 1].set(best), above

        return ig.fori_loop(0, b.shape[0], cell, (row.at[0].set(i + 1), row[0]))[0]

    return ig.fori_loop(0, a.shape[0], row_of, ig.arange(b.shape[0] + 1))[b.shape[0]]


def in_python(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        corner, row[0] = row[0], i + 1
        for j, y in enumerate(b):
            corner, row[j + 1] = row[j + 1], min(corner + (x != y), row[j + 1] + 1, row[j] + 1)
    return row[-1]


def letters(text: str) -> ig.Tensor:
    return ig.asarray([ord(letter) for letter in text])


def main() -> None:
    a, b = "the quick brown fox jumps over the lazy dog " * 5, "a quick brown dog jumps over the lazy foxes " * 5
    x, y = letters(a), letters(b)
    graph = ig.trace(distance, x, y).graph.compile()
    start = time.perf_counter()
    wanted = in_python(a, b)
    middle = time.perf_counter()
    found = int(graph(x, y))
    end = time.perf_counter()
    assert found == wanted
    print(f"{found} edits; {(middle - start) / (end - middle):.0f} times as fast as Python's loops")


if __name__ == "__main__":
    main()
