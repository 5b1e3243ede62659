"""Orders of conditions and of blocks of tasks, as rows of numbers from 0.

A row is one participant's order; `n` is the number of conditions, and of blocks.
"""

from __future__ import annotations

Square = list[list[int]]


def williams(n: int) -> Square:
    """A Latin square; for even n every number follows every other one exactly once (Williams, 1949)."""
    first = [(step + 1) // 2 if step % 2 else (n - step // 2) % n for step in range(n)]
    return [[(number + row) % n for number in first] for row in range(n)]


def williams_pair(n: int) -> tuple[Square, Square]:
    """Two Latin squares that together have every number follow every other one equally often, whatever n is.

    For odd n the second mirrors the first, as one alone cannot be balanced so; for even n each of them is.
    """
    square = williams(n)
    return square, square if n % 2 == 0 else [row[::-1] for row in square]


def shifts(n: int) -> list[int]:
    """By how much row r's blocks are turned against its numbers: each shift once, so that each number meets each block.

    Row + shift runs through all residues for odd n, which makes blocks and positions a Latin square as well. No
    shifts can do that for even n; these leave out one residue, have the one half way round twice, and so even out
    with a second square that is turned by n / 2.
    """
    half = n // 2
    if n % 2:
        return list(range(n))
    return [*range(half), *range(half + 1, n), half] if n > 2 else [0, 1]


def blocks(numbers: Square, turn: int = 0) -> Square:
    """The block of tasks in each cell of a square of conditions; `turn` is 1 for the second square of a pair."""
    n = len(numbers)
    extra = turn * (n // 2) if n % 2 == 0 else 0
    return [[(number + shift + extra) % n for number in row] for row, shift in zip(numbers, shifts(n), strict=True)]
