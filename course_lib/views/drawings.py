"""How data flows through the models, drawn: boxes compute, wires carry, a dot is a branch."""

from collections.abc import Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.path import Path

from course_lib.views.colours import ACCENT, INK, MUTED, PAPER, SECOND, TINTS

PALE, PALE_SECOND = "#e3f0f4", "#f8e9df"  # the two leading colours behind dark text
RADIUS = 0.19
Point = tuple[float, float]


def gru_cell(reset_after: bool = False) -> Figure:
    """One step of a GRU as the IMDb report writes it (PAPERS §0): h and x in, the next h out.

    With ``reset_after`` as ``nn.GRU`` has it: W_h stands before the reset gate, not behind it. The
    gate z keeps the report's sense in both, z = 1 takes the candidate.
    """
    axis = _canvas(9.6, 4.3)
    top, middle, gates, h_rail, x_rail = 3.85, 2.68, 1.75, 0.8, 0.25
    at_z, at_r, at_reset, at_candidate = 2.15, 4.2, 5.6, 8.35
    ceiling, floor = gates + 0.4, gates - 0.4  # of the boxes with the gates

    wire(axis, [(0.55, top), (at_z - RADIUS, top)], ACCENT)
    wire(axis, [(at_z + RADIUS, top), (at_candidate - RADIUS, top)], ACCENT)
    wire(axis, [(at_candidate + RADIUS, top), (9.1, top)], ACCENT)
    wire(
        axis, [(0.85, top), (0.85, h_rail), (at_reset, h_rail), (at_reset, gates - RADIUS)], ACCENT
    )
    joint(axis, (0.85, top), ACCENT)
    wire(axis, [(0.55, x_rail), (at_candidate, x_rail), (at_candidate, floor)], SECOND)
    for x in (at_z, at_r):
        wire(axis, [(x - 0.25, h_rail), (x - 0.25, floor)], ACCENT)
        wire(axis, [(x + 0.25, x_rail), (x + 0.25, floor)], SECOND, over=True)
        joint(axis, (x - 0.25, h_rail), ACCENT)
        joint(axis, (x + 0.25, x_rail), SECOND)

    wire(axis, [(at_z, ceiling), (at_z, 3.07)], tip=False)
    wire(axis, [(at_z, 3.41), (at_z, top - RADIUS)])
    wire(axis, [(at_z, middle), (at_candidate - RADIUS, middle)])
    joint(axis, (at_z, middle))
    wire(axis, [(at_candidate, ceiling), (at_candidate, middle - RADIUS)])
    wire(axis, [(at_candidate, middle + RADIUS), (at_candidate, top - RADIUS)])
    wire(axis, [(at_r + 0.7, gates), (at_reset - RADIUS, gates)])
    wire(axis, [(at_reset + RADIUS, gates), (at_candidate - 0.75, gates)])

    box(axis, (at_z, gates), r"$\sigma$", r"$U_z x + W_z h + b_z$", size=(1.4, 0.8))
    box(axis, (at_r, gates), r"$\sigma$", r"$U_r x + W_r h + b_r$", size=(1.4, 0.8))
    box(axis, (at_candidate, gates), r"$\tanh$", r"$\cdots + U_h x + b_h$", size=(1.5, 0.8),
        fill=PALE_SECOND)  # fmt: skip
    product = (at_reset, 1.17) if reset_after else (7.05, gates)
    box(axis, product, "$W_h$", size=(0.5, 0.36), fill=PAPER)
    box(axis, (at_z, 3.24), "$1-$", size=(0.5, 0.34), fill=PAPER)
    for place in ((at_z, top), (at_reset, gates), (at_candidate, middle)):
        operator(axis, place, r"$\circ$")
    operator(axis, (at_candidate, top), "$+$")

    label(axis, (0.3, top), "$h_{t-1}$", ACCENT)
    label(axis, (9.3, top), "$h_t$", ACCENT)
    label(axis, (0.37, x_rail), "$x_t$", SECOND)
    label(axis, (4.9, middle + 0.18), "$z_t$: how much of the candidate is taken")
    label(axis, (5.12, gates + 0.18), "$r_t$")
    label(axis, (at_candidate + 0.24, 2.32), r"$\hat{h}_t$")
    label(axis, (4.9, top + 0.2), r"$(1-z_t) \circ h_{t-1}$: what stays of the old state")
    label(axis, (at_candidate + 0.42, 3.3), r"$z_t \circ \hat{h}_t$")
    if reset_after:
        label(axis, (6.6, gates + 0.2), r"$r_t \circ (W_h h_{t-1})$")
    else:
        label(axis, (6.3, gates + 0.28), r"$r_t \circ h_{t-1}$")
    return axis.figure


def han() -> Figure:
    """The hierarchical attention network (Yang et al. 2016): words make sentences, sentences make
    the document, by the same two steps."""
    axis = _canvas(9.6, 7.3)
    words, alpha = ("the", "leads", "are", "wonderful"), (0.08, 0.2, 0.07, 0.65)
    centre, beside = 5.2, 1.2
    columns = [centre + 1.5 * (place - 1.5) for place in range(4)]
    for x, word in zip(columns, words, strict=True):
        label(axis, (x, 0.15), word, MUTED, style="italic")
    label(axis, (beside, 0.15), "sentence $i = 2$", MUTED)
    label(axis, (beside, 0.55), "word vectors", MUTED)
    _reading_floor(axis, 0.55, columns, "$x_{{i{}}}$", "$h_{{i{}}}$", r"$\alpha_{{i{}}}$", alpha,
                   centre)  # fmt: skip
    label(axis, (beside, 1.38), "read by a GRU,\nboth ways", MUTED)
    label(axis, (beside, 2.67), "weighed by the match\nof state and $c_w$", MUTED)
    label(axis, (centre + 1.3, 3.38), r"$s_i = \Sigma_t\, \alpha_{it} h_{it}$")

    wire(axis, [(centre, 3.27 + RADIUS), (centre, 3.73)], width=1.6)
    label(axis, (beside, 3.9), "sentence vectors", MUTED)
    sentences = [centre + 1.5 * (place - 1) for place in range(3)]
    _reading_floor(axis, 3.9, sentences, "$s_{}$", "$h_{}$", r"$\beta_{}$", (0.25, 0.55, 0.2),
                   centre)  # fmt: skip
    label(axis, (beside, 4.73), "read by a GRU,\nboth ways", MUTED)
    label(axis, (beside, 6.02), "weighed by the match\nof state and $c_s$", MUTED)
    label(axis, (centre - 1.3, 6.73), r"$v = \Sigma_i\, \beta_i h_i$")

    top = 6.62
    wire(axis, [(centre + RADIUS, top), (centre + 0.95, top)], width=1.6)
    box(axis, (centre + 1.2, top), "$v$", size=(0.5, 0.36))
    wire(axis, [(centre + 1.45, top), (centre + 1.9, top)])
    box(axis, (centre + 2.65, top), "linear, softmax", size=(1.5, 0.36), fill=PAPER, text=10)
    wire(axis, [(centre + 3.4, top), (centre + 3.85, top)])
    label(axis, (centre + 4.05, top), "$p$")
    return axis.figure


def _reading_floor(
    axis: Axes, bottom: float, columns: Sequence[float], vector: str, state: str, weight: str,
    shares: Sequence[float], centre: float,
) -> None:  # fmt: skip
    """Vectors, a GRU both ways, states, weights and their sum, which stands 2.72 above."""
    vectors, ahead, back, states, weights, total = (
        bottom + height for height in (0, 0.6, 1.05, 1.6, 2.12, 2.72)
    )
    for here, there in pairwise(columns):
        wire(axis, [(here - 0.02, ahead), (there - 0.42, ahead)], ACCENT)
        wire(axis, [(there + 0.02, back), (here + 0.42, back)], SECOND)
    for name, (x, share) in enumerate(zip(columns, shares, strict=True), start=1):
        for side, row in ((-0.22, ahead), (0.22, back)):
            wire(axis, [(x + side, vectors + 0.17), (x + side, row - 0.16)], over=True)
            wire(axis, [(x + side, row + 0.16), (x + side, states - 0.17)], over=True)
        box(axis, (x - 0.22, ahead), "→", size=(0.4, 0.32), text=10)
        box(axis, (x + 0.22, back), "←", size=(0.4, 0.32), fill=PALE_SECOND, text=10)
        box(axis, (x, vectors), vector.format(name), size=(0.84, 0.34))
        box(axis, (x, states), state.format(name), size=(0.84, 0.34))
        wire(axis, [(x, states + 0.17), (x, weights - 0.17)])
        wire(axis, [(x, weights + 0.17), (centre, total)], width=0.6 + 5 * share, tip=False)
        box(axis, (x, weights), weight.format(name), size=(0.84, 0.34), fill=TINTS(share))
    operator(axis, (centre, total), r"$\Sigma$")


def sanet() -> Figure:
    """The self-attention network (Letarte et al. 2018) with one block, "× N" for more."""
    axis = _canvas(9.6, 7.4)
    words = ("love", "this", "place", "!")
    attention = (
        (0.55, 0.1, 0.15, 0.2), (0.4, 0.2, 0.3, 0.1),
        (0.3, 0.15, 0.4, 0.15), (0.6, 0.05, 0.1, 0.25),
    )  # fmt: skip
    centre, beside = 5.4, 1.3
    columns = [centre + 1.7 * (place - 1.5) for place in range(4)]
    vectors, places, start, mixed, once, bent, twice, top = (
        0.6, 1.15, 1.75, 2.95, 3.6, 4.3, 5.0, 5.95
    )  # fmt: skip
    axis.add_patch(
        Rectangle((2.25, 2.2), 6.5, 3.15, facecolor="none", edgecolor=MUTED, linestyle=":", lw=1.2)
    )
    label(axis, (9.1, 3.75), r"$\times N$", size=13)
    for number, (x, word) in enumerate(zip(columns, words, strict=True), start=1):
        label(axis, (x, 0.17), word, MUTED, style="italic")
        wire(axis, [(x, vectors + 0.17), (x, places - RADIUS)])
        wire(axis, [(x, places + RADIUS), (x, start - 0.18)])
        label(axis, (x + 0.72, places), f"$p_{number}$", SECOND)
        wire(axis, [(x + 0.55, places), (x + RADIUS, places)], SECOND)
        for source, share in zip(columns, attention[number - 1], strict=True):
            tip = (x, mixed - RADIUS)
            wire(axis, [(source, start + 0.18), tip], width=0.5 + 4 * share, tip=False)
        for below, above in ((start, once), (once, twice)):
            side = x + 0.62  # the residual goes around what it is added to
            wire(axis, [(x + 0.42, below + 0.06), (side, below + 0.06), (side, above - 0.06),
                        (x + 0.42, above - 0.06)], ACCENT, over=True)  # fmt: skip
        wire(axis, [(x, mixed + RADIUS), (x, once - 0.18)])
        wire(axis, [(x, once + 0.18), (x, bent - 0.18)])
        wire(axis, [(x, bent + 0.18), (x, twice - 0.18)])
        wire(axis, [(x, twice + 0.18), (x, top - 0.2)])
        box(axis, (x, vectors), f"$e_{number}$", size=(0.84, 0.34))
        operator(axis, (x, places), "$+$")
        box(axis, (x, start), "linear", size=(0.84, 0.36), text=10)
        operator(axis, (x, mixed), r"$\Sigma$")
        box(axis, (x, once), "norm", size=(0.84, 0.36), fill=PAPER, text=10)
        box(axis, (x, bent), "FFN", size=(0.84, 0.36), fill=PALE_SECOND, text=10)
        box(axis, (x, twice), "norm", size=(0.84, 0.36), fill=PAPER, text=10)
    for y, note in (
        (vectors, "word vectors"), (places, "and positions"), (start, "to width $d$"),
        (2.55, "every word\nweighs every word:"), (mixed, "softmax$(X W_{QK} X^T)\\, X W_V$"),
        (once, "LayerNorm of the sum\nwith what it was"), (bent, "each word by itself"),
        (twice, "LayerNorm of the sum"), (top, "over the real words"),
    ):  # fmt: skip
        label(axis, (beside - 0.2, y), note, MUTED, size=10)
    box(axis, (centre, top), "the largest value of each dimension", size=(6.2, 0.4))
    wire(axis, [(centre, top + 0.2), (centre, 6.45)], width=1.6)
    box(axis, (centre, 6.63), "linear, softmax", size=(1.5, 0.36), fill=PAPER, text=10)
    wire(axis, [(centre, 6.81), (centre, 7.08)])
    label(axis, (centre, 7.22), "$p$")
    return axis.figure


def agt() -> Figure:
    """The attention-gated network (Guo 2017): every layer weighs the same words anew, and its gate
    lets some of what it selected into y."""
    axis = _canvas(9.6, 7.4)
    words = ("not", "a", "dull", "moment")
    weights = ((0.5, 0.1, 0.3, 0.1), (0.15, 0.05, 0.6, 0.2), (0.4, 0.1, 0.4, 0.1))
    columns = [2.25 + 1.05 * place for place in range(4)]
    vectors, projected, total, stack, wide = 0.6, 1.3, 6.3, 8.35, 2.2
    rows = (2.05, 3.45, 4.85)  # of the layers' weights; what they sum to stands 0.6 above
    for number, (x, word) in enumerate(zip(columns, words, strict=True), start=1):
        label(axis, (x, 0.17), word, MUTED, style="italic")
        wire(axis, [(x, vectors + 0.17), (x, projected - 0.18)])
        side = x - 0.39  # one line up beside the weights, and from it a branch to each of them
        for row in rows:
            wire(axis, [(side, projected + 0.18), (side, row), (x - 0.27, row)], ACCENT)
        box(axis, (x, vectors), f"$x_{number}$", size=(0.84, 0.34))
        box(axis, (x, projected), f"$B_{number}$", size=(0.84, 0.36), fill=PALE_SECOND)
    for layer, (row, shares) in enumerate(zip(rows, weights, strict=True)):
        for number, (x, share) in enumerate(zip(columns, shares, strict=True), start=1):
            tip = (total, row + 0.6)
            wire(axis, [(x, row + 0.17), tip], width=0.6 + 4 * share, tip=False)
            box(axis, (x, row), f"$d_{{{layer},{number}}}$", size=(0.54, 0.34), fill=TINTS(share))
        _gated_layer(axis, layer, (total, row + 0.6), stack, wide)
    for place in ((columns[1] + 0.52, 5.75), (stack, 6.5)):
        label(axis, place, "$\\vdots$", MUTED, size=14)
    wire(axis, [(stack, 6.18), (stack, 6.36)], ACCENT, tip=False)
    wire(axis, [(stack, 6.66), (stack, 6.83)], ACCENT)
    box(axis, (stack, 7.03), "two layers, softmax", size=(2.0, 0.38), fill=PAPER, text=10)
    wire(axis, [(stack - 1, 7.03), (stack - 1.35, 7.03)])
    label(axis, (stack - 1.5, 7.03), "$p$")
    label(axis, (total + 0.35, rows[0] + 0.16), r"$s_l = \Sigma_n\, d_{l,n} B_n$", size=10)
    for y, note in (
        (vectors, "word vectors"), (projected, "tanh$(W x + b)$,\none for all layers"),
        (rows[0], "layer 0\nweighs the words"), (rows[1], "layer 1 weighs\nthe same words"),
        (rows[2], "layer 2 …"),
    ):  # fmt: skip
        label(axis, (0.85, y), note, MUTED, size=10)
    return axis.figure


def _gated_layer(axis: Axes, layer: int, at: Point, stack: float, wide: float) -> None:
    """What a layer selected, from its sum at ``at`` into y; layer 0's is y itself."""
    x, y = at
    selected, left = x + 0.62, stack - wide / 2
    operator(axis, at, r"$\Sigma$")
    wire(axis, [(x + RADIUS, y), (selected - 0.23, y)])
    wire(axis, [(selected + 0.23, y), (left if layer else stack - 0.5, y)])
    box(axis, (selected, y), f"$s_{layer}$", size=(0.46, 0.36))
    top = y + 0.73
    if layer == 0:
        box(axis, (stack, y), "$y_0 = s_0$", size=(1.0, 0.4))
        wire(axis, [(stack, y + 0.2), (stack, y + 1.4 - 0.2)], ACCENT)
        return
    wire(axis, [(selected, y + 0.18), (selected, y + 0.4)])
    box(axis, (selected, y + 0.57), r"$\sigma$", size=(0.46, 0.34), fill=PALE_SECOND)
    wire(axis, [(selected + 0.23, y + 0.57), (left, y + 0.57)], SECOND)
    label(axis, (selected - 0.42, y + 0.6), f"$T_{layer}$", SECOND)
    below = layer - 1
    box(
        axis, (stack, y + 0.265), f"$y_{layer}$",
        f"$f([y_{below}; s_{layer}]) \\circ T_{layer} + y_{below} \\circ (1 - T_{layer})$",
        size=(wide, 0.93), fill=PALE,
    )  # fmt: skip
    if layer == 1:
        wire(axis, [(stack, top), (stack, y + 1.4 - 0.2)], ACCENT)


def iram() -> Figure:
    """Three steps of the iterative recursive attention model (Tutek and Šnajder 2018)."""
    axis = _canvas(9.6, 6.9)
    words = ("not", "a", "bad", "film")
    rows = (
        (0.08, 0.02, 0.75, 0.15),
        (0.6, 0.05, 0.05, 0.1, 0.2),
        (0.03, 0.02, 0.05, 0.1, 0.2, 0.6),
    )
    columns, later = [2.25 + 0.85 * place for place in range(4)], (5.85, 6.7)
    vectors, states, steps = 0.55, 1.4, (2.65, 3.95, 5.25)
    at_query, at_sum, at_highway, at_summary, top = 1.2, 7.45, 8.35, 9.2, 6.35
    for number, (x, word) in enumerate(zip(columns, words, strict=True), start=1):
        label(axis, (x, 0.15), word, MUTED, style="italic")
        wire(axis, [(x, vectors + 0.17), (x, states - 0.3)])
        box(axis, (x, vectors), f"$x_{number}$", size=(0.7, 0.34))
    for here, there in pairwise(columns):
        wire(axis, [(here + 0.35, states + 0.09), (there - 0.35, states + 0.09)], ACCENT)
        wire(axis, [(there - 0.35, states - 0.09), (here + 0.35, states - 0.09)], SECOND)
    entries = [*zip(columns, range(1, 5)), *zip(later, range(1, 3))]
    for x, number in entries:
        summary = x in later
        name = f"$s^{{({number})}}$" if summary else f"$h_{number}$"
        fill = PALE_SECOND if summary else PALE
        box(axis, (x, states), name, size=(0.7, 0.44 if summary else 0.5), fill=fill)
        axis.plot([x, x], [states + 0.27, steps[-1]], color=MUTED, lw=0.7, ls=":", zorder=1)
    wire(axis, [(columns[0] - 0.35, states), (at_query, states), (at_query, steps[0] - 0.2)])
    label(axis, (0.66, 1.12), "read by an LSTM,\nboth ways", MUTED, size=10)
    label(axis, (0.62, 1.95), "last cell\nstate", MUTED, size=10)
    for step, (y, shares) in enumerate(zip(steps, rows, strict=True), start=1):
        box(axis, (at_query, y), f"$q^{{({step})}}$", size=(0.66, 0.4), fill=PAPER)
        wire(axis, [(at_query + 0.33, y), (columns[0] - 0.35, y)])
        wire(axis, [(columns[0] + 0.35, y), (at_sum - RADIUS, y)])
        for place, (x, _) in enumerate(entries):
            has_share = place < len(shares)
            share = shares[place] if has_share else 0.0
            box(axis, (x, y), f"{share:.2f}" if has_share else "0", size=(0.7, 0.36), text=10,
                fill=TINTS(share) if has_share else PAPER)  # fmt: skip
        operator(axis, (at_sum, y), r"$\Sigma$")
        wire(axis, [(at_sum + RADIUS, y), (at_highway - 0.42, y)])
        box(axis, (at_highway, y), "highway", size=(0.84, 0.4), fill=PAPER, text=10)
        wire(axis, [(at_highway + 0.42, y), (at_summary - 0.15, y)], tip=False)
        label(axis, (at_highway + 0.62, y + 0.22), f"$s^{{({step})}}$", SECOND)
    for place, (y, above, x) in enumerate(zip(steps, steps[1:], later)):
        right, rail, between = at_summary + 0.2 * place, 0.95 - 0.25 * place, (y + above) / 2
        back = [(right, y), (right, rail), (x, rail), (x, states - 0.24)]
        wire(axis, [(at_summary - 0.15, y), *back], SECOND, over=bool(place))
        joint(axis, (right, y), SECOND)
        wire(axis, [(right, y), (right, between), (at_query + 0.4, between)], SECOND)
        wire(axis, [(at_query, y + 0.2), (at_query, between - 0.2)])
        box(axis, (at_query, between), "GRU cell", size=(0.84, 0.4), fill=PAPER, text=10)
        wire(axis, [(at_query, between + 0.2), (at_query, above - 0.2)])
    wire(axis, [(at_summary - 0.15, steps[-1]), (at_summary, steps[-1]), (at_summary, top - 0.2)])
    box(axis, (8.55, top), "maxout twice, softmax", size=(1.9, 0.4), fill=PAPER, text=10)
    wire(axis, [(7.6, top), (7.1, top)])
    label(axis, (6.9, top), "$p$")
    label(axis, (0.62, vectors), "word vectors", MUTED, size=10)
    label(axis, (6.3, 1.9), "appended", SECOND, size=10)
    note = "each row: softmax$(q\\, W H^T)$, $H$ grows by a row a step; 0: not yet written"
    label(axis, (3.5, 5.75), note, MUTED, size=10)
    return axis.figure


def _canvas(width: float, height: float) -> Axes:
    """Empty paper whose units are inches, the origin at the lower left."""
    figure = plt.figure(figsize=(width, height))
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    axis.axis("off")
    return axis


def box(
    axis: Axes, centre: Point, name: str, note: str = "", *, size: Point = (0.6, 0.36),
    fill: str | tuple = PALE, text: float = 12,
) -> None:  # fmt: skip
    """A box that computes: its name, and below it, smaller, what it computes with."""
    (x, y), (width, height) = centre, size
    axis.add_patch(
        FancyBboxPatch(
            (x - width / 2 + 0.05, y - height / 2 + 0.05), width - 0.1, height - 0.1,
            boxstyle="round,pad=0.05", facecolor=fill, edgecolor=INK, linewidth=1, zorder=3,
        )
    )  # fmt: skip
    label(axis, (x, y + (0.15 if note else 0)), name, size=text + 2 * bool(note))
    if note:
        label(axis, (x, y - 0.19), note, size=9.5)


def operator(axis: Axes, centre: Point, sign: str) -> None:
    """A circle where two wires meet: ∘, + or Σ."""
    axis.add_patch(Circle(centre, RADIUS, facecolor=PAPER, edgecolor=INK, linewidth=1, zorder=3))
    label(axis, centre, sign, size=20 if sign == r"$\circ$" else 14)


def wire(
    axis: Axes, points: Sequence[Point], colour: str = INK, *, width: float = 1.3,
    over: bool = False, tip: bool = True,
) -> None:  # fmt: skip
    """A wire through points, with an arrow's tip; ``over`` leads it visibly over another one."""
    path = Path(list(points))
    style = {"mutation_scale": 11, "shrinkA": 0, "shrinkB": 0, "joinstyle": "round"}
    if over:
        axis.plot(*zip(*points), color=PAPER, linewidth=5, zorder=2.1, solid_capstyle="butt")
    axis.add_patch(
        FancyArrowPatch(
            path=path, arrowstyle="-|>" if tip else "-", color=colour, linewidth=width, fill=False,
            zorder=2.2 if over else 2, **style,
        )
    )  # fmt: skip


def joint(axis: Axes, place: Point, colour: str = INK) -> None:
    """A dot where a wire branches; wires that cross without one do not touch."""
    axis.add_patch(Circle(place, 0.05, color=colour, zorder=3))


def label(
    axis: Axes, place: Point, text: str, colour: str = INK, *, size: float = 11, **style: str
) -> None:
    """Words or a symbol, centred."""
    axis.text(
        *place, text, ha="center", va="center", color=colour, fontsize=size, zorder=4, **style
    )
