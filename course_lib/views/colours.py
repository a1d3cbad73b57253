"""The colours of every figure and view, each defined here once."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, to_hex, to_rgb
from matplotlib.typing import ColorType

INK, MUTED, ACCENT, SECOND = "#1d2433", "#667085", "#0b6e8a", "#b5541c"
THIRD, FOURTH = "#7a5195", "#5b8c5a"
LINES = (ACCENT, SECOND, THIRD, FOURTH)  # of a figure, in this order
PAPER, BLACK = "#ffffff", "#000000"
THEME = {"ink": INK, "muted": MUTED, "accent": ACCENT, "paper": PAPER}
DARK_THEME = {"ink": "#e6e9f0", "muted": "#a4afc0", "accent": "#5cc0dd", "paper": "#161b22"}
SHADES = 256
DARKEST = 26.0  # CIELAB lightness of the largest weight
ENOUGH = 4.5  # the contrast that text needs (WCAG 2, level AA)
READABLE = 0.52  # up to this share of the map, ink on it keeps that contrast


def _attention_shades() -> np.ndarray:
    """sRGB ``(256, 3)`` in [0, 1], from paper over amber to dark red, in equal steps of lightness.

    Lightness alone carries the order, so the map reads the same to colour-blind eyes and in grey.
    """
    place = np.linspace(0, 1, SHADES)
    chroma = 62 * np.sin(np.pi * place**0.9) + 36 * place**2
    hue = np.radians(84 - 52 * place)
    lightness = 100 - (100 - DARKEST) * place
    return _from_lab(np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], axis=1))


def _from_lab(lab: np.ndarray) -> np.ndarray:
    """CIELAB (D65) ``(n, 3)`` → sRGB ``(n, 3)``, cut to what a screen can show."""
    lightness, a, b = lab.T
    y = (lightness + 16) / 116
    cube = np.stack([y + a / 500, y, y - b / 200], axis=1)
    xyz = np.where(cube > 6 / 29, cube**3, (cube - 4 / 29) * 3 * (6 / 29) ** 2)
    xyz = xyz * [0.95047, 1.0, 1.08883]
    linear = np.clip(xyz @ np.linalg.inv(_RGB_TO_XYZ).T, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


_RGB_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
_SHADES = _attention_shades()
ATTENTION = ListedColormap(_SHADES, "attention")
TINTS = ListedColormap(_SHADES[: round(READABLE * SHADES)], "attention-tints")  # behind dark text
ATTENTION_HEX, TINTS_HEX = (
    [to_hex(shade) for shade in shades.colors] for shades in (ATTENTION, TINTS)
)
SIGNED = LinearSegmentedColormap.from_list("signed", ["#7fb8c8", PAPER, "#e2764f"])  # zero is white


def ink_on(ground: ColorType) -> str:
    """The colour of text that can be read on a ground: the course's ink, on dark ones white.

    In the narrow band between, where neither has enough contrast, black has.
    """
    return next((ink for ink in (INK, PAPER) if contrast(ink, ground) >= ENOUGH), BLACK)


def contrast(first: ColorType, second: ColorType) -> float:
    """The contrast of two colours, from 1 to 21 (WCAG 2)."""
    dark, light = sorted((_luminance(first), _luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: ColorType) -> float:
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ _RGB_TO_XYZ[1])
