"""Builds the thresher program for a wheel, and collects its Go sources for an sdist.

The sources are in the parent folder of a checkout, or in the folder go of an sdist.
THRESHER_TARGET, such as linux/arm64, chooses the system and processor of a wheel; without it
a wheel is for the machine that builds it. THRESHER_SKIP_BUILD=1 makes an editable install
without a program, which the variable THRESHER_BINARY then names.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The static program needs Linux 3.2 and no C library, so a wheel is for every distribution.
PLATFORMS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
}
LICENCES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING", "NOTICE", "NOTICE.txt")


class ProgramHook(BuildHookInterface[Any]):
    """Adds the program to wheels and its sources to sdists."""

    scratch: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "sdist":
            self.add_sources(build_data)
            return
        target = os.environ.get("THRESHER_TARGET") or own_target()
        if target not in PLATFORMS:
            raise SystemExit(f"THRESHER_TARGET {target}: a wheel is for one of {', '.join(PLATFORMS)}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{PLATFORMS[target]}"
        editable = version == "editable"
        if editable and os.environ.get("THRESHER_SKIP_BUILD"):
            return
        if editable:
            folder = Path(self.root, "src", "thresher", "_bin")
            folder.mkdir(exist_ok=True)
        else:
            self.scratch = tempfile.TemporaryDirectory()
            folder = Path(self.scratch.name)
        name = "thresher.exe" if target.startswith("windows") else "thresher"
        compile_program(self.sources(), target, self.metadata.version, folder / name, folder / "NOTICES.txt")
        if not editable:
            for file in (name, "NOTICES.txt"):
                build_data["force_include"][str(folder / file)] = f"thresher/_bin/{file}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.scratch is not None:
            self.scratch.cleanup()

    def sources(self) -> Path:
        """Return the folder of go.mod."""
        for folder in (Path(self.root, "go"), Path(self.root).parent):
            if (folder / "go.mod").is_file():
                return folder
        raise SystemExit(f"the Go sources of thresher are neither in {self.root}/go nor in {Path(self.root).parent}")

    def add_sources(self, build_data: dict[str, Any]) -> None:
        """Add the Go files that any of the platforms needs."""
        folder = self.sources()
        for path in ("go.mod", "go.sum"):
            build_data["force_include"][str(folder / path)] = f"go/{path}"
        fields = ("GoFiles", "SFiles", "HFiles", "EmbedFiles", "IgnoredGoFiles", "IgnoredOtherFiles")
        names = "".join("{{range ." + field + "}}{{$d}}/{{.}}\n{{end}}" for field in fields)
        for target in PLATFORMS:
            listed = go_list(
                "{{if and .Module (not .Module.Version)}}{{$d := .Dir}}" + names + "{{end}}", folder, target
            )
            for line in listed.split("\n"):
                path = Path(line)
                if line and not path.name.endswith("_test.go"):
                    build_data["force_include"][str(path)] = "go/" + path.relative_to(folder).as_posix()


def own_target() -> str:
    system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    return f"{system}/" + {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def go_command() -> str:
    go = os.environ.get("GO", "go")
    if shutil.which(go) is None:
        raise SystemExit(
            "building thresher from source needs Go (https://go.dev/dl); "
            "wheels for Linux, macOS and Windows need nothing"
        )
    return go


def go_environment(target: str) -> dict[str, str]:
    system, processor = target.split("/")
    return {**os.environ, "CGO_ENABLED": "0", "GOOS": system, "GOARCH": processor}


def go_list(wanted: str, folder: Path, target: str) -> str:
    """Return what go list prints of each package of the program."""
    command = [go_command(), "list", "-deps", "-f", wanted, "./cmd/thresher"]
    return subprocess.run(
        command, cwd=folder, env=go_environment(target), check=True, capture_output=True, text=True
    ).stdout


def compile_program(folder: Path, target: str, version: str, program: Path, notices: Path) -> None:
    vcs = "auto" if (folder / ".git").is_dir() else "false"
    flags = ["-trimpath", f"-buildvcs={vcs}", "-ldflags", f"-s -w -X main.packaged={version}"]
    command = [go_command(), "build", *flags, "-o", str(program)]
    subprocess.run([*command, "./cmd/thresher"], cwd=folder, env=go_environment(target), check=True)
    wanted = "{{with .Module}}{{if .Version}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}"
    notices.write_text(licences(go_list(wanted, folder, target)), encoding="utf-8")


def licences(modules: str) -> str:
    """Return the licences of the modules, which are lines of path, version and folder."""
    parts = ["thresher is under the Apache License 2.0. The program contains these modules of others.\n"]
    for line in sorted(set(modules.split("\n")) - {""}):
        path, version, folder = line.split("\t")
        for name in LICENCES:
            file = Path(folder, name)
            if file.is_file():
                text = file.read_text(encoding="utf-8", errors="replace")
                parts.append(f"{'=' * 78}\n{path} {version}: {name}\n\n{text}")
    return "\n".join(parts)
