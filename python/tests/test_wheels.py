"""What the wheels and the sdist contain: those in the folder THRESHER_WHEELS, `make wheels` builds all."""

import email
import json
import os
import re
import struct
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

FOLDER = os.environ.get("THRESHER_WHEELS")
ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not FOLDER, reason="THRESHER_WHEELS names no folder of wheels")

TAGS = {
    "win_amd64": ["win_amd64"],
    "macosx_12_0_arm64": ["macosx_12_0_arm64"],
    "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64": [
        "manylinux2014_x86_64",
        "manylinux_2_17_x86_64",
        "musllinux_1_1_x86_64",
    ],
    "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64": [
        "manylinux2014_aarch64",
        "manylinux_2_17_aarch64",
        "musllinux_1_1_aarch64",
    ],
}


def wheels():
    return sorted(Path(FOLDER).glob("*.whl")) if FOLDER else []


def platform_of(wheel):
    return wheel.name.removesuffix(".whl").split("-", 4)[4]


@pytest.mark.parametrize("wheel", wheels(), ids=platform_of)
def test_wheel(wheel):
    with zipfile.ZipFile(wheel) as z:
        assert z.testzip() is None
        names = set(z.namelist())
        info = next(n.split("/")[0] for n in names if n.endswith(".dist-info/METADATA"))
        described = email.message_from_bytes(z.read(f"{info}/WHEEL"))
        assert described["Root-Is-Purelib"] == "false"
        assert sorted(described.get_all("Tag")) == [f"py3-none-{tag}" for tag in TAGS[platform_of(wheel)]]
        metadata = email.message_from_bytes(z.read(f"{info}/METADATA"))
        plain = [r for r in metadata.get_all("Requires-Dist") if "extra ==" not in r]
        assert len(plain) == 1 and plain[0].startswith("numpy")
        assert metadata["Requires-Python"] == ">=3.10"
        program = "thresher/_bin/thresher" + (".exe" if "win" in platform_of(wheel) else "")
        sources = {f"thresher/{p.relative_to(ROOT / 'src' / 'thresher').as_posix()}" for p in modules()}
        own = {n for n in names if n.startswith("thresher/")}
        assert own == sources | {program, "thresher/_bin/NOTICES.txt"}
        assert f"{info}/licenses/LICENSE" in names and f"{info}/entry_points.txt" in names
        assert z.getinfo(program).external_attr >> 16 & 0o111 == 0o111  # may be executed
        assert b"github.com/apache/arrow-go" in z.read("thresher/_bin/NOTICES.txt")
        check_program(z.read(program), platform_of(wheel))
    assert wheel.stat().st_size < 30e6


def modules():
    return [p for p in (ROOT / "src" / "thresher").rglob("*") if p.suffix == ".py" or p.name == "py.typed"]


def check_program(data, platform):
    if "linux" in platform:
        assert data[:5] == b"\x7fELF\x02"
        assert struct.unpack_from("<H", data, 18)[0] == (62 if "x86_64" in platform else 183)
        offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
        kinds = {struct.unpack_from("<I", data, offset + i * size)[0] for i in range(count)}
        assert 3 not in kinds and 2 not in kinds  # PT_INTERP, PT_DYNAMIC: it is static
    elif "macosx" in platform:
        assert struct.unpack_from("<II", data) == (0xFEEDFACF, 0x0100000C)
    else:
        assert data[:2] == b"MZ"
        header = struct.unpack_from("<I", data, 60)[0]
        assert data[header : header + 4] == b"PE\0\0" and struct.unpack_from("<H", data, header + 4)[0] == 0x8664


def test_sdist():
    (sdist,) = Path(FOLDER).glob("*.tar.gz")
    with tarfile.open(sdist) as tar:
        files = {m.name.split("/", 1)[1] for m in tar.getmembers() if m.isfile()}
    for name in ("pyproject.toml", "hatch_build.py", "LICENSE", "README.md", "go/go.mod", "go/go.sum"):
        assert name in files
    assert "go/cmd/thresher/main.go" in files and "go/simd/dot.go" in files
    assert not any("_bin/" in f or f.endswith(("_test.go", ".pyc")) for f in files)
    assert {p.relative_to(ROOT).as_posix() for p in modules()} <= files
    assert sdist.stat().st_size < 5e6


def test_versions():
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M).group(1)
    for file in [*wheels(), *Path(FOLDER).glob("*.tar.gz")]:
        assert file.name.startswith(f"thresher-{version}")


def test_licence_is_that_of_the_repository():
    original = ROOT.parent / "LICENSE"
    if original.exists():
        assert (ROOT / "LICENSE").read_bytes() == original.read_bytes()


def test_a_new_user(tmp_path):
    """An empty environment, the wheel, and the first answer."""
    mine = [w for w in wheels() if sys.platform == "linux" and "x86_64" in w.name]
    if not mine:
        pytest.skip("no wheel for this machine")
    import numpy

    venv.create(tmp_path / "venv", with_pip=False)
    site = next((tmp_path / "venv").rglob("site-packages"))
    with zipfile.ZipFile(mine[0]) as z:
        z.extractall(site)
    (site / "thresher" / "_bin" / "thresher").chmod(0o755)  # as pip does
    code = (
        "import numpy as np, thresher\n"
        "x = np.random.default_rng(0).standard_normal((2000, 96), dtype=np.float32)\n"
        "result = thresher.Index(x, metric='ip').search(x[:2], k=3)\n"
        "assert result.ids.shape == (2, 3) and result.certificates['guarantee'][0] in ('exact', 'certain')\n"
    )
    paths = os.pathsep.join([str(site), str(Path(numpy.__file__).parents[1])])
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-c", code], env={"PATH": "", "PYTHONPATH": paths}, check=True)
    program = site / "thresher" / "_bin" / "thresher"
    told = subprocess.run([program, "version", "--json"], env={"PATH": ""}, capture_output=True, text=True, check=True)
    assert json.loads(told.stdout)["version"] == mine[0].name.split("-")[1]
