#!/usr/bin/env python3
"""Runs the steps of a Dockerfile without Docker.

    python3 deploy/docker/rehearse.py Dockerfile.cuda

Each stage is a folder that holds what the file copies into it and nothing else;
the context is a clone of the last commit, of which .dockerignore may leave out
nothing. RUN steps may be scripts of deploy/docker/ alone and run there with this
machine's tools. At the end the program answers `version` from the last stage, with
the variables of that stage alone. `serve` is refused without a token; with one it
can be reached from outside and answers nobody else, and the health check is content
with it and with nothing else. What this cannot show is what the images bring along:
it does not read them.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGE = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")
SCRIPT = re.compile(r"deploy/docker/\w+\.sh( \w+)*")


TOKEN = "of-the-rehearsal"


class Refused(Exception):
    """A step that the rehearsal does not support."""


@dataclass
class Stage:
    root: Path
    work: Path  # below root
    user: str = ""
    variables: dict[str, str] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        """A path of the stage; relative ones are below its working folder."""
        return self.root / name.lstrip("/") if name.startswith("/") else self.work / name


def steps(text: str) -> list[tuple[str, str]]:
    """Instructions and their arguments, without comments, with lines joined."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


class Rehearsal:
    def __init__(self, folder: Path, context: Path) -> None:
        self.folder, self.context = folder, context
        self.stages: dict[str, Stage] = {}
        self.commands: dict[str, list[str]] = {}

    @property
    def stage(self) -> Stage:
        return list(self.stages.values())[-1]

    def play(self, word: str, rest: str) -> None:
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            if not IMAGE.fullmatch(image):
                raise Refused(f"FROM {image} names no tag with its digest")
            root = self.folder / f"stage{len(self.stages)}"
            root.mkdir()
            self.stages[name or root.name] = Stage(root, root)
            self.commands.clear()
        elif word == "WORKDIR":
            self.stage.work = self.stage.path(rest)
            self.stage.work.mkdir(parents=True, exist_ok=True)
        elif word == "COPY":
            self.copy(rest.split())
        elif word == "RUN":
            if not SCRIPT.fullmatch(rest):
                raise Refused(f"RUN {rest} is not a script of deploy/docker/")
            subprocess.run(shlex.split(rest), cwd=self.stage.work, check=True)
        elif word == "USER":
            self.stage.user = rest
        elif word == "HEALTHCHECK":
            self.commands[word] = json.loads(rest.partition("CMD ")[2])
        elif word in ("ENTRYPOINT", "CMD"):
            self.commands[word] = json.loads(rest)
        elif word == "ENV":
            self.stage.variables |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif word not in ("ARG", "LABEL", "EXPOSE"):
            raise Refused(f"{word} is not supported")

    def copy(self, words: list[str]) -> None:
        source = Stage(self.context, self.context)
        while words[0].startswith("--"):
            option, _, value = words.pop(0).partition("=")
            if option == "--from":
                source = self.stages[value]
            elif option != "--chown":  # everything here belongs to whoever runs this
                raise Refused(f"COPY {option} is not supported")
        *names, into = words
        target = self.stage.path(into)
        for name in names:
            path = source.path(name)
            if path.is_dir():
                shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True)
            else:
                file = target / path.name if into.endswith("/") else target
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, file)

    def finish(self) -> None:
        if self.stage.user.split(":")[0] in ("", "0", "root"):
            raise Refused("the last stage runs as root")
        program = [self.stage.path(self.commands["ENTRYPOINT"][0]), *self.commands["ENTRYPOINT"][1:]]
        own = self.stage.variables
        subprocess.run([*program, "version"], cwd=self.stage.work, env=own, check=True)
        host, _, _ = own["THRESHER_LISTEN"].rpartition(":")
        if host in ("localhost", "127.0.0.1", "[::1]"):
            raise Refused(f"nobody outside of a container can reach {own['THRESHER_LISTEN']}")
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))  # and nobody listens
            if self.healthy(f"127.0.0.1:{silent.getsockname()[1]}"):
                raise Refused("the health check is content without a server")
        serve = [*program, "serve", "--costs", "builtin", "--backend", "cpu"]
        env = own | {"THRESHER_LISTEN": f"{host}:0"}  # the image's port may be taken here
        bare = subprocess.run(serve, check=False, cwd=self.stage.work, env=env, capture_output=True, text=True, timeout=900)
        if bare.returncode == 0 or "no tokens are set" not in bare.stderr:
            raise Refused(f"serve without a token ends with {bare.returncode} and says {bare.stderr!r}")
        env |= {"THRESHER_TOKENS": "rehearsal:read:" + hashlib.sha256(TOKEN.encode()).hexdigest()}
        with subprocess.Popen(serve, cwd=self.stage.work, env=env, stdout=subprocess.PIPE, text=True) as server:
            try:
                line = server.stdout.readline() if server.stdout else ""
                at = re.search(r"http://\S+:(\d+)", line)
                if at is None:
                    raise Refused(f"serve says {line!r}, and not where it serves")
                while not self.healthy(f"{host}:{at[1]}"):
                    if server.poll() is not None:
                        raise Refused(f"serve ended with {server.returncode}")
                told = {token: status(f"http://{outside()}:{at[1]}/v1/collections", token) for token in ("", "wrong", TOKEN)}
                if list(told.values()) != [401, 401, 200]:
                    raise Refused(f"requests without a token, with a wrong one and with the right one get {told}")
            finally:
                server.terminate()

    def healthy(self, address: str) -> bool:
        """Whether the health check of a container whose server listens there is content."""
        words = self.commands["HEALTHCHECK"]
        check = [self.stage.path(words[0]), *words[1:]]
        env = self.stage.variables | {"THRESHER_LISTEN": address}
        return subprocess.run(check, check=False, cwd=self.stage.work, env=env).returncode == 0


def outside() -> str:
    """An address of this machine by which others reach it; that of loopback if it has no other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))  # chooses a route; nothing is sent
        except OSError:
            return "127.0.0.1"
        return str(s.getsockname()[0])


def status(url: str, token: str) -> int:
    """The status of a GET with this token, or without one."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=900) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as e:
        return e.code


def main(name: str) -> int:
    at, word, rest = 0, "", ""
    with tempfile.TemporaryDirectory() as temporary:
        context = Path(temporary) / "context"
        subprocess.run(["git", "clone", "--quiet", ROOT, context], check=True)
        ignored = ["git", "-C", str(context), "ls-files", "--cached", "--ignored", "--exclude-from=.dockerignore"]
        if lost := subprocess.run(ignored, check=True, capture_output=True, text=True).stdout:
            print(f"rehearse.py: .dockerignore leaves out what is committed:\n{lost}", end="", file=sys.stderr)
            return 1
        rehearsal = Rehearsal(Path(temporary), context)
        try:
            for at, (word, rest) in enumerate(steps((context / name).read_text()), 1):
                print(f"-- {name}, step {at}: {word} {rest}", flush=True)
                rehearsal.play(word, rest)
            rehearsal.finish()
        except (Refused, OSError, KeyError, subprocess.CalledProcessError) as e:
            print(f"rehearse.py: {name}, step {at} ({word}): {e}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: rehearse.py DOCKERFILE")
    sys.exit(main(sys.argv[1]))
