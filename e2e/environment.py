"""What the tests need: Python packages, the binary, a browser.

Only the standard library is imported here: this module makes the environment
that the others need.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "build" / "e2e"

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def enter() -> None:
    """Goes on in the virtual environment that holds requirements.txt, making it
    first if need be. Returns when this already is that environment."""
    if sys.version_info < (3, 11):
        sys.exit(f"the pinned packages need Python 3.11 or newer, this is {platform.python_version()}")
    home = BUILD / "venv"
    python = home / "bin" / "python"
    wanted = HERE / "requirements.txt"
    stamp = home / f"installed-{hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]}"
    if not stamp.exists():
        print("installing requirements.txt into build/e2e/venv", flush=True)
        venv.create(home, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
        if subprocess.run([*pip, "-r", str(wanted)]).returncode != 0:
            sys.exit("the packages of e2e/requirements.txt could not be installed; the reason is above")
        stamp.touch()
    if Path(sys.prefix).resolve() != home.resolve():
        os.execv(python, [str(python), *sys.argv])


def build(package: str, directory: Path = ROOT) -> Path:
    """Builds a command and returns where it is."""
    name = (directory / package).name
    binary = BUILD / name
    if subprocess.run(["go", "build", "-o", binary, package], cwd=directory).returncode != 0:
        sys.exit(f"{name} could not be built; the reason is above")
    return binary


def chromium() -> str:
    """The path of a browser, which is installed if there is none; "" leaves the
    tests of the page out, because E2E_BROWSER=0 says so."""
    if os.environ.get("E2E_BROWSER") == "0":
        print("E2E_BROWSER=0: the page is not tested", flush=True)
        return ""
    if found := browser():
        return found
    print("there is no Chromium: installing Debian's", flush=True)
    for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-qy", "--no-install-recommends", "chromium"]):
        if shutil.which(command[0]) is None or subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
            break
    if found := browser():
        return found
    sys.exit("there is no Chromium and none could be installed; E2E_BROWSER=0 leaves the tests of the page out")


def browser() -> str:
    return next((path for name in BROWSERS if (path := shutil.which(name))), "")
