"""What deleting words says of attention, over the trainings and the texts of each network."""

import numpy as np

from course_kit.research.report import frames
from course_kit.research.report.frames import ByName, areas, mean_std, study_records, to_markdown
from course_lib.metrics.statistics import LEVEL, Estimate, crossed

ATTENTION, RANDOM, LEFT_OUT = "attention", "random", "leave-one-out"  # rankings in records
ATTACHED, DETACHED = "gradient × input", "gradient × input, attention detached"
TIMES_SLOPE, INTEGRATED = "α · ∇α", "integrated gradients"
SIGNED_ATTENTION = "attention × sign of the gradient"  # which is DETACHED, Jain and Wallace's
MEASURES = {"comprehensiveness": max, "sufficiency": min}  # and which of several values is best


def unsigned(ranking: str) -> str:
    """The name of a ranking by absolute values."""
    return f"|{ranking}|"


RIVALS = {  # of each kind of attention; leave-one-out is no rival, it nearly optimises the measure
    ATTENTION: [unsigned(name) for name in (ATTACHED, INTEGRATED, TIMES_SLOPE)],
    SIGNED_ATTENTION: [ATTACHED, DETACHED, INTEGRATED, TIMES_SLOPE],
}
SIGNS = {  # differences, by the heads of their columns
    "attention − random": (ATTENTION, RANDOM),
    "attention − |gradient × input|": (ATTENTION, unsigned(ATTACHED)),
    "attention − gradient × input": (ATTENTION, ATTACHED),
    "attention × sign − gradient × input, attention held fixed": (SIGNED_ATTENTION, DETACHED),
}
Gaps = dict[str, dict[str, Estimate]]  # by network, then by column


def by_network(records: ByName | None = None) -> dict[str, ByName]:
    """The records of the study by network, named for people, then by training; news come last."""
    found: dict[str, ByName] = {}
    for name, record in (study_records("faithfulness") if records is None else records).items():
        found.setdefault(frames.network_title(name), {})[name] = record
    return dict(sorted(found.items(), key=lambda item: kind_of(item[0])))


def _several(records: ByName | None) -> dict[str, ByName]:
    """The networks with three trainings at least: an interval from two says next to nothing."""
    return {name: of for name, of in by_network(records).items() if len(of) > 2}


def kind_of(network: str) -> str:
    """What a network reads, by its title: the tests of networks that read it are a family, those of
    the pre-trained one another."""
    if network.startswith(frames.SYSTEM_NAMES["minilm"]):
        return "film texts, after pre-training"
    return "news" if network.endswith(frames.NAMES["ag_news"]) else "film texts"


def sign_gaps(records: ByName | None = None) -> Gaps:
    """The differences of ``SIGNS`` in comprehensiveness, of networks with several trainings."""
    found = {name: areas(of, "comprehensiveness") for name, of in _several(records).items()}
    return {
        name: {head: crossed(of[one] - of[other]) for head, (one, other) in SIGNS.items()}
        for name, of in found.items()
    }


def signs_table(records: ByName | None = None) -> str:
    """How much more attention's words cost (comprehensiveness) than other words, with 95 %
    intervals over trainings and texts, as a markdown table; bold where Holm's p-value is below
    0.05, over the networks of the column that read film texts, or news."""
    return _gaps_table(sign_gaps(records))


def best_gaps(records: ByName | None = None) -> tuple[Gaps, dict[tuple[str, str], str]]:
    """Attention minus the best of its ``RIVALS`` and the name of that one, by network and column:
    the best on every second text, and the difference on the others."""
    gaps: Gaps = {}
    names = {}
    for network, of in _several(records).items():
        for measure, best in MEASURES.items():
            found = areas(of, measure)
            for ours, rivals in RIVALS.items():
                rival = best(rivals, key=lambda name: found[name][:, ::2].mean())
                head = f"{measure}: {'attention × sign' if ours != ATTENTION else ours} − best"
                gap = crossed(found[ours][:, 1::2] - found[rival][:, 1::2])
                gaps.setdefault(network, {})[head] = gap
                names[network, head] = rival
    return gaps, names


def best_table(records: ByName | None = None) -> str:
    """``best_gaps`` as a markdown table, bold as in ``signs_table``."""
    return _gaps_table(best_gaps(records)[0])


def _gaps_table(gaps: Gaps) -> str:
    detected, rows = _detected(gaps), []
    for network, of in gaps.items():
        rows.append([network])
        for head, gap in of.items():
            bold = "**" * ((network, head) in detected)
            rows[-1].append(
                "{b}{:+.3f} [{:+.3f}, {:+.3f}]{b}".format(gap.value, *gap.interval, b=bold)
            )
    return to_markdown(["network", *next(iter(gaps.values()))], rows, "lr")


def _detected(gaps: Gaps) -> set[tuple[str, str]]:
    """The network and column of each difference that Holm's correction leaves detected; a family
    are the networks of one column that read texts of one kind."""
    found = {(name, head): gap.p for name, of in gaps.items() for head, gap in of.items()}
    families = (f"{kind_of(name)}, {head}" for name, head in found)
    return {name for name, p in frames.holm_within(found, families).items() if p < LEVEL}


def rankings_table(records: ByName | None = None) -> str:
    """Comprehensiveness by deletion (AOPC) of each ranking and network, as mean ± standard
    deviation over trainings, as a markdown table; the rankings that all networks have, the best
    first."""
    parts = {
        network: [
            record["removals"]["deletion"]["comprehensiveness"]["rankings"]
            for record in of.values()
        ]
        for network, of in by_network(records).items()
    }
    shared = set.intersection(*({*part} for of in parts.values() for part in of))

    def means(ranking: str) -> list[list[float]]:
        return [[part[ranking]["aopc"]["mean"] for part in of] for of in parts.values()]

    order = sorted(shared, key=lambda name: -np.mean([np.mean(of) for of in means(name)]))
    rows = [[name, *(mean_std(of, digits=2) for of in means(name))] for name in order]
    return to_markdown(["ranking", *parts], rows, "lr")
