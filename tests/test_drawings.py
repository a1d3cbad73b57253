"""The drawings name what the equations name, and nothing in them stands on something else."""

from itertools import combinations

import matplotlib.pyplot as plt
import pytest
from matplotlib.patches import Circle, FancyBboxPatch

from course_lib.views import drawings

DRAWINGS = {
    "gru_cell": drawings.gru_cell,
    "reset_after": lambda: drawings.gru_cell(reset_after=True),
    "han": drawings.han,
    "sanet": drawings.sanet,
    "agt": drawings.agt,
    "iram": drawings.iram,
}


@pytest.fixture(params=DRAWINGS)
def drawn(request):
    figure = DRAWINGS[request.param]()
    figure.canvas.draw()
    yield figure
    plt.close(figure)


def written(figure):
    return " ".join(text.get_text() for text in figure.axes[0].texts)


def overlap(one, other):
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return width > 1 and height > 1  # pixels


def test_texts_stand_apart_and_on_the_paper(drawn):
    axis = drawn.axes[0]
    extents = [(text.get_text(), text.get_window_extent()) for text in axis.texts]
    for (one, at), (other, there) in combinations(extents, 2):
        assert not overlap(at, there), f"{one!r} stands on {other!r}"
    for name, at in extents:
        assert at.x0 >= 0 and at.y0 >= 0, name
        assert at.x1 <= drawn.bbox.x1 and at.y1 <= drawn.bbox.y1, name


def test_a_text_is_wholly_in_its_box_or_outside(drawn):
    axis = drawn.axes[0]
    shapes = [
        patch.get_window_extent()
        for patch in axis.patches
        if isinstance(patch, FancyBboxPatch) or (isinstance(patch, Circle) and patch.radius > 0.1)
    ]
    for text in axis.texts:
        at = text.get_window_extent()
        for shape in shapes:
            within = shape.x0 <= at.x0 and at.x1 <= shape.x1
            inside = within and shape.y0 <= at.y0 and at.y1 <= shape.y1
            assert inside or not overlap(at, shape), f"{text.get_text()!r} crosses a border"


def test_the_cell_names_what_its_equations_name():
    before, after = drawings.gru_cell(), drawings.gru_cell(reset_after=True)
    for figure in (before, after):
        for name in ("h_{t-1}", "h_t", "x_t", r"\sigma", r"\tanh", "U_z x + W_z h", "U_r x + W_r h",
                     "U_h x", "W_h", "$1-$", r"$\circ$", "$+$"):  # fmt: skip
            assert name in written(figure), name
    assert r"$r_t \circ h_{t-1}$" in written(before)
    assert r"$r_t \circ (W_h h_{t-1})$" in written(after)


def test_the_recurrent_product_moves_with_the_reset_gate():
    def product(figure):
        places = {t.get_text(): t.get_position() for t in figure.axes[0].texts}
        return places["$W_h$"], places["$r_t$"]

    (x, y), (_, gate) = product(drawings.gru_cell())
    (x_after, y_after), _ = product(drawings.gru_cell(reset_after=True))
    assert x > x_after and y_after < y < gate  # behind the gate, or before it


def test_the_network_names_both_floors():
    text = written(drawings.han())
    for name in ("x_{i4}", "h_{i4}", r"\alpha_{i4}", "c_w", "s_3", "h_3", r"\beta_3", "c_s", "$v$",
                 "softmax", "$p$"):  # fmt: skip
        assert name in text, name


def test_the_self_attention_network_names_what_its_equations_name():
    text = written(drawings.sanet())
    for name in ("e_4", "p_4", "linear", "W_{QK}", "W_V", r"\Sigma", "LayerNorm", "FFN", "largest",
                 r"\times N", "softmax", "$p$"):  # fmt: skip
        assert name in text, name


def test_the_attention_gated_network_names_what_its_equations_name():
    text = written(drawings.agt())
    for name in ("x_4", "B_4", "d_{0,4}", "d_{2,1}", r"\Sigma", "s_2", r"\sigma", "T_1",
                 "y_0 = s_0", "f([y_0; s_1])", r"y_1 \circ (1 - T_2)", "two layers",
                 "$p$"):  # fmt: skip
        assert name in text, name


def test_the_steps_name_what_their_equations_name():
    text = written(drawings.iram())
    for name in ("x_4", "h_4", "q^{(1)}", "q^{(3)}", "s^{(1)}", "s^{(3)}", r"\Sigma", "highway",
                 "GRU cell", "softmax", "maxout", "last cell", "$p$"):  # fmt: skip
        assert name in text, name
