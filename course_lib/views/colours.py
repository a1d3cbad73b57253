"""The colours of every figure and view, each defined here once."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, to_rgb
from matplotlib.typing import ColorType

INK, MUTED, ACCENT, SECOND = "#1d2433", "#667085", "#0b6e8a", "#b5541c"
THIRD, FOURTH = "#7a5195", "#5b8c5a"
LINES = (ACCENT, SECOND, THIRD, FOURTH)  # of a figure, in this order
PAPER, BLACK = "#ffffff", "#000000"
THEME = {"ink": INK, "muted": MUTED, "accent": ACCENT, "paper": PAPER}
DARK_THEME = {"ink": "#e6e9f0", "muted": "#a4afc0", "accent": "#5cc0dd", "paper": "#161b22"}
# A tint on dark paper, from the one on light paper. Lightness rises with the root of what the light
# one lacks: in the dark small differences of lightness near black can hardly be seen.
NIGHT = "oklch(from {} calc(0.22 + 0.57 * pow(max(0, 1 - l), 0.6)) calc(0.75 * c) h)"
ENOUGH = 4.5  # the contrast that text needs (WCAG 2, level AA)
READABLE = 0.52  # up to this share of the map, ink on it keeps that contrast
# From paper over amber to dark red in 256 equal steps of CIELAB lightness, from 100 to 26.
# Lightness alone carries the order, so the map reads the same to colour-blind eyes and in grey.
_SHADES = bytes.fromhex("""
    ffffff fffefc fffdf9 fffcf6 fffbf3 fffaf0 fff9ed fff8eb fff7e8 fff6e5 fff5e3 fff4e0
    fff3dd fff2db fff1d8 fff0d6 ffefd3 ffeed1 ffedce ffeccc ffebc9 ffeac7 ffe9c5 ffe8c2
    ffe7c0 ffe6be ffe5bb ffe4b9 ffe3b7 ffe2b4 ffe1b2 ffe0b0 ffdeae ffddac ffdca9 ffdba7
    ffdaa5 ffd9a3 ffd8a1 ffd79f ffd69d ffd59b ffd499 ffd397 ffd295 ffd193 ffd091 ffcf8f
    ffce8d ffcd8b ffcc89 ffcb87 ffca85 ffc883 ffc781 ffc67f ffc57e ffc47c ffc37a ffc278
    ffc177 ffc075 ffbf73 ffbe71 ffbd70 ffbc6e ffbb6c ffba6b ffb969 ffb868 ffb666 ffb565
    ffb463 ffb361 ffb260 ffb15e ffb05d ffaf5c feae5a fead59 feac57 feab56 fdaa55 fda953
    fda852 fca651 fca54f fca44e fba34d fba24b fba14a faa049 fa9f48 fa9e47 f99d45 f99c44
    f99b43 f89a42 f89941 f79840 f7973f f6963e f6953d f6943c f5933b f5923a f49039 f48f38
    f38e37 f38d36 f28c35 f28b35 f18a34 f18933 f08832 f08731 ef8631 ef8530 ee842f ee832e
    ed822e ed812d ec802c ec7f2c eb7e2b ea7d2b ea7c2a e97b29 e97a29 e87928 e77828 e77727
    e67627 e67527 e57426 e47426 e47325 e37225 e27125 e27024 e16f24 e06e24 df6d23 df6c23
    de6b23 dd6a23 dd6922 dc6822 db6722 da6722 da6622 d96521 d86421 d76321 d66221 d66121
    d56021 d46021 d35f21 d25e21 d25d21 d15c20 d05b20 cf5b20 ce5a20 cd5920 cc5820 cb5720
    cb5620 ca5620 c95520 c85420 c75321 c65321 c55221 c45121 c35021 c25021 c14f21 c04e21
    bf4d21 bf4d21 be4c21 bd4b21 bc4b21 bb4a21 ba4921 b94822 b84822 b74722 b64622 b54622
    b34522 b24522 b14422 b04322 af4322 ae4222 ad4122 ac4123 ab4023 aa4023 a93f23 a83e23
    a73e23 a63d23 a53d23 a33c23 a23c23 a13b23 a03b23 9f3a23 9e3923 9d3923 9c3824 9b3824
    993724 983724 973624 963624 953524 943524 933424 913424 903424 8f3324 8e3324 8d3224
    8c3224 8a3124 893124 883024 873024 863024 852f24 832f24 822e24 812e24 802d24 7f2d24
    7e2d24 7c2c24 7b2c23 7a2b23 792b23 782b23 772a23 752a23 742923 732923 722923 712823
    702823 6e2822 6d2722 6c2722
""")
ATTENTION_HEX = [f"#{_SHADES[at : at + 3].hex()}" for at in range(0, len(_SHADES), 3)]
TINTS_HEX = ATTENTION_HEX[: round(READABLE * len(ATTENTION_HEX))]  # behind dark text
ATTENTION = ListedColormap(ATTENTION_HEX, "attention")
TINTS = ListedColormap(TINTS_HEX, "attention-tints")
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
    return float(linear @ [0.2126, 0.7152, 0.0722])
