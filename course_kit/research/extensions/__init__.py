"""Extensions: networks changed by what the papers left open, as systems that can be run."""

from course_lib.runs.systems import register


def register_all() -> None:
    """Make these systems known to ``course_lib``, which finds this through an entry point."""
    from course_kit.research.extensions.context_han import ContextHANSystem
    from course_kit.research.extensions.finished import AdaptiveIRAMSystem, NearSANetSystem
    from course_kit.research.extensions.ordered_agt import OrderedAGTSystem

    register("adaptive_iram", AdaptiveIRAMSystem)
    register("context_han", ContextHANSystem)
    register("near_sanet", NearSANetSystem)
    register("ordered_agt", OrderedAGTSystem)
