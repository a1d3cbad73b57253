"""Systems of finished studies: their records are found, and nothing is trained."""

import pytest

from course_kit.research.extensions import FinishedSystem
from course_kit.research.grid.groups import read_grid
from course_lib.runs.records import state
from course_lib.runs.run import train
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems import known_systems


@pytest.mark.parametrize(
    ("name", "preset", "kept"),
    [("adaptive_iram", "vanilla", 3), ("context_han", "report", 9), ("near_sanet", "base", 7),
     ("ordered_agt", "compact", 2)],
)  # fmt: skip
def test_records_of_a_finished_study_are_found_and_its_network_is_not_trained(name, preset, kept):
    planned = {s.id: s for specs in read_grid().values() for s in specs if s.system == name}
    assert len(planned) == kept and issubclass(known_systems()[name], FinishedSystem)
    assert all(state(spec).record for spec in planned.values())
    with pytest.raises(SpecError, match="finished study: its records can be read"):
        train(RunSpec(name, "toy", preset))
