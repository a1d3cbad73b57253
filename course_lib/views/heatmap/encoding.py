"""From weights and tokens to what a browser is sent: checked, cut, quantised, deflated."""

import math
import numbers
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

MOST_CELLS = 16_000_000  # a browser holds each three times, at two to four bytes
LONGEST_SIDE = 16_384  # of the canvas a matrix is painted on
LIVE_LEVELS = 65_535  # all that uint16 tells apart
STATIC_LEVELS = 5_500  # half a level is below 1e-4 of the largest weight, and deflates well


def as_weights(weights: Any, name: str = "weights") -> np.ndarray:
    """A float32 array from torch (any device and dtype, gradients or not), numpy or lists.

    Sparse weights become dense. ``ValueError`` names the first weight that is NaN, infinite or
    negative, and refuses what is no array of numbers, as well as complex numbers and masked arrays,
    which would lose their imaginary part or their mask.
    """
    if np.ma.isMaskedArray(weights):
        raise ValueError(
            f"{name} is a masked array; fill what is masked, such as weights.filled(0)"
        )
    if hasattr(weights, "detach"):
        weights = weights.detach().cpu()
        weights = weights.to_dense()
        weights = weights.numpy() if weights.is_complex() else weights.float().numpy()
    elif hasattr(weights, "toarray"):  # a sparse matrix of scipy
        weights = weights.toarray()
    try:
        array = np.asarray(weights)
        real = not np.iscomplexobj(array)
        array = array.astype(np.float32) if real else array
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is no array of numbers with rows of one length") from error
    if not real:
        raise ValueError(f"{name} holds complex numbers; attention weights are real")
    good = np.isfinite(array) & (array >= 0)
    if not good.all():
        place = np.unravel_index(np.argmin(good), array.shape)
        where = ", ".join(map(str, place))
        raise ValueError(
            f"{name}[{where}] is {array[place]}; attention weights are finite and at least 0. "
            "Give the weights after the softmax, not the scores"
        )
    return array


def as_list(given: Iterable[Any], name: str) -> list[Any]:
    """What is given as a list; ``ValueError`` for what holds no things in order."""
    if isinstance(given, set | frozenset | dict):
        raise ValueError(f"{name} has no order; give a list")
    try:
        return list(given)
    except TypeError as error:
        raise ValueError(f"{name} takes a list, got {given!r}") from error


def as_number(given: Any, name: str) -> float:
    """A finite number; ``ValueError`` for anything else."""
    try:
        number = math.nan if isinstance(given, str) else float(given)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{name} takes a number, got {given!r}")
    return number


def as_tokens(tokens: Iterable[Any], name: str, least: int = 1) -> list[str]:
    """Tokens as text that can be sent; ``ValueError`` for a string or for too few tokens."""
    if isinstance(tokens, str):
        raise ValueError(f"{name} is one string; give a list of tokens, such as {name}.split()")
    text = [as_text(token) for token in as_list(tokens, name)]
    if len(text) < least:
        raise ValueError(f"{name} holds no tokens; there is nothing to show")
    return text


def as_text(given: Any) -> str:
    """Anything as text that can be sent."""
    return str(given).encode("utf-8", "replace").decode("utf-8")


def check_sides(shape: tuple[int, ...], rows: list[str], columns: list[str], extra: int) -> None:
    """``ValueError`` unless the tokens fit the sides, and ``extra`` leaves a column of words."""
    for name, tokens, side in (("rows", rows, shape[0]), ("columns", columns, shape[1])):
        if len(tokens) != side:
            raise ValueError(f"{name} has {len(tokens)} tokens for the {side} {name} of weights")
    if not isinstance(extra, numbers.Integral) or not 0 <= extra < len(columns):
        raise ValueError(
            f"extra is {extra!r}; it takes 0 to {len(columns) - 1} of the last columns"
        )


def check_size(shape: tuple[int, ...]) -> None:
    """``ValueError`` if there are more cells than a browser can hold, with the way out."""
    cells = int(np.prod(shape))
    if cells > MOST_CELLS or max(shape) > LONGEST_SIDE:
        raise ValueError(
            f"weights {shape} has {cells:,} cells; a browser holds {MOST_CELLS:,}, and "
            f"{LONGEST_SIDE:,} on a side. Give a slice, such as weights[:1000, :1000]"
        )


def quantise(weights: np.ndarray, levels: int) -> np.ndarray:
    """uint16 codes from 0 to ``levels``, which stands for the largest weight."""
    # shares of the largest first: the scale of tiny weights would be infinite in float32
    shares = weights / (weights.max() or np.float32(1.0))
    return np.rint(shares * np.float32(levels)).astype(np.uint16)


def deflate(codes: np.ndarray) -> bytes:
    """One byte that says how many bits are low, then all high and all low parts in zlib's format.

    Five low bits deflate better than eight, where the high ones then fit a byte. Attention looks
    like noise to a packer, so only runs of one value are searched for: longer patterns take ten
    times as long and save next to nothing.
    """
    low_bits = 5 if int(codes.max()) >> 5 <= 255 else 8
    parts = [codes >> low_bits, codes & (2**low_bits - 1)]
    packer = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_RLE)
    planes = b"".join(packer.compress(part.astype(np.uint8).tobytes()) for part in parts)
    return bytes([low_bits]) + planes + packer.flush()
