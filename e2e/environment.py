"""What the tests need: Python packages, binaries, Node with its packages, a browser.

It imports the standard library only, since it creates the environment that the other
modules need."""

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
    """Continues in the virtual environment that holds requirements.txt, and creates it if
    necessary. Returns if this already is that environment."""
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


def revision() -> str:
    """The commit checked out, with +dirty if there are changes; "" if unknown."""
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
    if head.returncode != 0:
        return ""
    changes = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True)
    return head.stdout.strip() + ("+dirty" if changes.stdout else "")


def build(package: str, directory: Path = ROOT, name: str = "") -> Path:
    """Builds a command and returns its path."""
    name = name or (directory / package).name
    binary = BUILD / name
    # Go stamps the revision of a clone, but not of a worktree.
    stamp = ["-ldflags", f"-X main.stamped={revision()}"]
    if subprocess.run(["go", "build", *stamp, "-o", binary, package], cwd=directory).returncode != 0:
        sys.exit(f"{name} could not be built; the reason is above")
    return binary


NODE = 18  # the oldest version that the package openai supports


def node(sources: Path) -> str:
    """A folder with these sources and the packages of their lock file; "" skips their tests, if
    E2E_NODE=0. Node is installed if it is missing."""
    if os.environ.get("E2E_NODE") == "0":
        print("E2E_NODE=0: the package for Node is not tested", flush=True)
        return ""
    if not node_there():
        print("there is no Node with npm: installing Debian's", flush=True)
        installed("nodejs", "npm")
    if not node_there():
        sys.exit(f"there is no Node {NODE} with npm and none could be installed; E2E_NODE=0 leaves its tests out")
    home = BUILD / "node"
    lock = hashlib.sha256((sources / "package-lock.json").read_bytes()).hexdigest()[:12]
    if not (home / f"installed-{lock}").exists():
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(sources, home)
        if subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=home).returncode != 0:
            sys.exit(f"the packages of {sources / 'package.json'} could not be installed; the reason is above")
        (home / f"installed-{lock}").touch()
    shutil.copytree(sources, home, dirs_exist_ok=True)
    return str(home)


def node_there() -> bool:
    if shutil.which("node") is None or shutil.which("npm") is None:
        return False
    said = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    return int(said.strip().lstrip("v").split(".")[0] or 0) >= NODE


def installed(*packages: str) -> None:
    """Installs Debian packages, if possible."""
    for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-qy", "--no-install-recommends", *packages]):
        if shutil.which(command[0]) is None or subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
            break


def chromium() -> str:
    """The path of a browser, installed if it is missing; "" skips the tests of the page, if
    E2E_BROWSER=0."""
    if os.environ.get("E2E_BROWSER") == "0":
        print("E2E_BROWSER=0: the page is not tested", flush=True)
        return ""
    if found := browser():
        return found
    print("there is no Chromium: installing Debian's", flush=True)
    installed("chromium")
    if found := browser():
        return found
    sys.exit("there is no Chromium and none could be installed; E2E_BROWSER=0 leaves the tests of the page out")


def browser() -> str:
    return next((path for name in BROWSERS if (path := shutil.which(name))), "")
