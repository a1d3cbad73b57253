"""Devices, their precision, threads, and what is done to numbers near zero."""

import os
from dataclasses import replace

import pytest
import torch
from trainings import CONFIG, CPU, data, fit, new_model

from course_lib.training import devices
from course_lib.training.config import TrainingError


@pytest.mark.parametrize(
    ("asked", "processor", "expected"),
    [
        ("no", {"avx512_bf16": True}, "no"),
        ("bf16", {}, "bf16"),
        ("auto", {"avx512_bf16": True}, "no"),
        ("native", {"avx512_bf16": True}, "bf16"),
        ("native", {"amx_bf16": True, "avx512_bf16": False}, "bf16"),
        ("native", {"avx2": True}, "no"),
    ],
)
def test_bfloat16_on_a_cpu_is_asked_for_and_native(monkeypatch, asked, processor, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: processor)
    assert devices.choose_precision(asked, CPU) == expected


@pytest.mark.parametrize("native", [True, False])
def test_a_gpu_that_only_emulates_bfloat16_computes_in_float32(native, monkeypatch):
    ask = lambda including_emulation=True: native or including_emulation  # noqa: E731
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", ask)
    expected = "bf16" if native else "no"
    assert devices.choose_precision("auto", torch.device("cuda")) == expected


def pretend(monkeypatch, gpus=0, mps=False):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(
    ("gpus", "mps", "automatic", "present", "absent"),
    [
        (0, False, "cpu", ["cpu"], ["cuda", "cuda:0", "mps"]),
        (2, False, "cuda", ["cpu", "cuda", "cuda:0", "cuda:1"], ["cuda:2", "mps"]),
        (0, True, "cpu", ["cpu", "mps"], ["cuda", "mps:1"]),
        (1, True, "cuda", ["cuda", "mps"], ["cuda:1"]),
    ],
)
def test_a_device_is_the_one_of_that_name_or_an_error(
    monkeypatch, gpus, mps, automatic, present, absent
):
    pretend(monkeypatch, gpus, mps)
    assert devices.choose_device() == devices.choose_device("auto") == torch.device(automatic)
    for name in present:
        assert devices.choose_device(name) == torch.device(name)
    for name in [*absent, "nope", "abacus:1", "cuda:", "cuda:x", "meta", ""]:
        with pytest.raises(TrainingError, match=f"device '{name}' is not available here"):
            devices.choose_device(name)


def test_a_gpu_named_by_its_number_becomes_the_current_one(monkeypatch):
    chosen = []
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setattr(devices, "Accelerator", lambda **settings: settings)
    for name in ("cpu", "cuda", "cuda:1"):
        settings = devices.make_accelerator(torch.device(name), "no")
        assert settings == {"cpu": name == "cpu", "mixed_precision": "no"}
    assert chosen == [torch.device("cuda:1")]


def test_threads_are_set_and_told():
    before = torch.get_num_threads()
    try:
        assert devices.use_threads(1) == torch.get_num_threads() == 1
        assert devices.use_threads(None) == 1
        assert devices.use_threads(10_000) <= os.cpu_count()
    finally:
        torch.set_num_threads(before)


def zero():
    """Whether a product below 1e-38 comes out as zero."""
    return (torch.tensor(1e-39) * 1).item() == 0


def test_denormals_are_zeros_in_training_alone():
    if not torch.set_flush_denormal(False) or zero():
        pytest.skip("this processor does not tell them apart")
    with devices.flushed_denormals():
        with devices.flushed_denormals():
            assert zero()
        assert zero()
    assert not zero()
    seen, model = [], new_model()
    model.register_forward_hook(lambda *_: seen.append((model.training, zero())))
    fit(model, data(), replace(CONFIG, epochs=1))
    assert set(seen) == {(True, True), (False, False)} and not zero()
