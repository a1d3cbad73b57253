"""What deleting words says of attention."""

from course_kit.research.report import erasure


def test_networks_with_two_trainings_have_no_interval():
    counts = {"iram-sst2": 2, "han-imdb": 3}
    names = [f"{network}-compact-s{seed}" for network, n in counts.items() for seed in range(n)]
    assert list(erasure._several({name: {} for name in names})) == ["HAN on IMDb"]
