"""What is said of GPUs: those of the machine, and on the emulator those that cannot be used.

The tests with the emulator need THRESHER_LIBCUDA to name it and THRESHER_BINARY a program with the CUDA
backend (make test-python-cuda): the emulator reads its settings when a worker starts, so each runs in a process of
its own.
"""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import thresher
from thresher import _worker

LIBRARY = os.environ.get("THRESHER_LIBCUDA", "")
needs_emulator = pytest.mark.skipif(
    not (LIBRARY.endswith("emu/libcuda.so.1") and os.environ.get("THRESHER_BINARY")),
    reason="needs the emulator: make test-python-cuda",
)

# What a Python program sees of a machine's GPUs: warnings of two indexes, and the lists.
PROGRAM = """
import json, sys, warnings
import numpy as np, thresher
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    rows = np.random.default_rng(1).standard_normal((3000, 128), dtype=np.float32)
    first = thresher.Index(rows, metric="ip", device=sys.argv[1])
    _, ids = first.search(rows[:5], k=1)
    assert ids[:, 0].tolist() == [0, 1, 2, 3, 4]
    thresher.Index(rows[:, :3], metric="ip", device=sys.argv[1])
devices = {d["name"]: d for d in thresher.devices()}
told = [(w.category.__name__, str(w.message), w.filename) for w in caught]
print(json.dumps({"told": told, "cuda": devices["cuda"], "on": first.info["device"]}))
"""

FAULTS = [
    ("EMU_VERSION=11080", ["driver 520 is too old", "install a newer NVIDIA driver"]),
    ("EMU_CC=75", ["capability 7.5 is below 8.0", "a newer GPU is needed"]),
    ("EMU_MEM=67108864", ["device 0 (", "64 MiB of 64 MiB are free", "free memory"]),
    ("EMU_FAIL=cuDevicePrimaryCtxRetain:1+:2", ["device 0 (", "CUDA_ERROR_OUT_OF_MEMORY", "free memory"]),
    ("EMU_FAIL=cuDevicePrimaryCtxRetain:1+:46", ["device 0 (", "CUDA_ERROR_DEVICE_UNAVAILABLE", "end the process"]),
]


def seen(*settings, device="auto"):
    """Run the program on a machine with these settings of the emulator."""
    env = {**os.environ, "THRESHER_COSTS": "builtin", **dict(s.split("=", 1) for s in settings)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, device], env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_emulator
@pytest.mark.parametrize(("setting", "said"), FAULTS)
def test_a_card_that_cannot_be_used_is_told_once(setting, said):
    found = seen(setting)
    assert found["on"] == "cpu"
    [(category, message, filename)] = found["told"]
    assert category == "DeviceUnused" and filename == "<string>"
    [sentence] = found["cuda"]["gpu_unused"]
    for part in said:
        assert part in message and part in sentence
    assert found["cuda"]["missing"]


@needs_emulator
@pytest.mark.parametrize("setting", ["EMU_DEVICES=0", "THRESHER_LIBCUDA=/nowhere/libcuda.so.1"])
def test_nothing_is_told_where_no_card_is(setting):
    found = seen(setting)
    assert found["told"] == [] and found["on"] == "cpu"
    assert found["cuda"]["missing"] and "gpu_unused" not in found["cuda"]


@needs_emulator
def test_auto_takes_a_usable_card():
    found = seen()
    assert found["told"] == [] and found["on"] == "cuda"
    assert "emulated card" in found["cuda"]["device"] and "missing" not in found["cuda"]


@needs_emulator
def test_a_card_too_small_for_the_vectors_is_told():
    found = seen("EMU_MEM=67373056")
    assert found["on"] == "cpu"
    assert "loading 3000 vectors" in found["told"][0][1] and "free memory" in found["told"][0][1]


@needs_emulator
def test_a_full_card_beside_a_good_one():
    found = seen("EMU_DEVICES=2", "EMU_MEM=67108864,1073741824")
    assert found["on"] == "cuda" and "device 1:" in found["cuda"]["device"]
    assert len(found["told"]) == 1 and "device 0 (" in found["told"][0][1]
    assert "device 0 (" in found["cuda"]["gpu_unused"][0]


@needs_emulator
def test_the_cpu_looks_for_no_card():
    found = seen("EMU_CC=75", device="cpu")
    assert found["told"] == [] and found["on"] == "cpu"


def test_a_warning_names_the_callers_line_once(monkeypatch):
    worker = _worker.get()
    call = type(worker).call

    def with_unused(self, op, *args, **kwargs):
        reply, arrays = call(self, op, *args, **kwargs)
        return ({**reply, "gpu_unused": ["card 7: old; buy one"]} if op in ("build", "knn") else reply), arrays

    monkeypatch.setattr(type(worker), "call", with_unused)
    rows = np.eye(8, dtype=np.float32)
    with pytest.warns(thresher.DeviceUnused, match="card 7: old; buy one") as caught:
        thresher.knn(rows[:2], rows, k=1, metric="ip", seed=1)  # which this process does not answer itself
    assert [w.filename for w in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thresher.Index(rows, metric="ip").close()
    worker.told.clear()
    with pytest.warns(thresher.DeviceUnused) as caught:
        thresher.pairs(rows, 0.5, metric="ip")
    assert [w.filename for w in caught] == [__file__]
    worker.told.clear()


def test_devices_of_this_machine():
    devices = thresher.devices()
    assert devices[0]["name"] == "cpu"
    [cuda] = [d for d in devices if d["name"] == "cuda"]
    assert bool(cuda.get("missing")) != bool(cuda.get("device"))
    if cuda.get("missing") and not cuda.get("gpu_unused"):
        with pytest.raises(thresher.DeviceMissing, match=r"without CUDA.*pip install thresher\[cuda\]|no CUDA driver"):
            thresher.Index(np.eye(4), device="cuda", metric="ip")
