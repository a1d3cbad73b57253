"""Systems of finished studies: their records can be read (test_grid), and nothing is trained."""

import pytest

from course_lib.runs.run import train
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("adaptive_iram", "vanilla"),
        ("context_han", "report"),
        ("near_sanet", "base"),
        ("ordered_agt", "compact"),
    ],
)
def test_the_network_of_a_finished_study_is_not_trained(name, preset):
    with pytest.raises(SpecError, match="finished study: its records can be read"):
        train(RunSpec(name, "toy", preset))
