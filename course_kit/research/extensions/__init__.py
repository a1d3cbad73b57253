"""Extensions: what the papers left open, tried once and recorded."""

from course_lib.runs.systems import register


def register_all() -> None:
    """Make these systems known to ``course_lib``, which finds this through an entry point."""
    from course_kit.research.extensions import finished

    register("adaptive_iram", finished.AdaptiveIRAMSystem)
    register("context_han", finished.ContextHANSystem)
    register("near_sanet", finished.NearSANetSystem)
    register("ordered_agt", finished.OrderedAGTSystem)
