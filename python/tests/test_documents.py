"""Examples of docstrings and of the documentation."""

import doctest
import importlib
import re
import subprocess
from pathlib import Path

import pytest

from thresher import _binary

HERE = Path(__file__).parents[1]
DOCS = HERE.parent / "docs"
PAGES = [HERE / "README.md", HERE.parent / "README.md", DOCS / "python.md", DOCS / "faiss.md"]


@pytest.fixture(scope="module")
def comments(tmp_path_factory):
    """Return a folder with comments.npy, by the command that the README names."""
    folder = tmp_path_factory.mktemp("comments")
    command = ["demo", "--embedded", "--query", "JSON", "--save", "comments.npy"]
    subprocess.run([_binary.path(), *command], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("page", [p for p in PAGES if p.exists()], ids=lambda p: "/".join(p.parts[-2:]))
def test_page(page, capsys, comments, monkeypatch):
    monkeypatch.chdir(comments)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, str(page), "exec"), {})
    assert "none wrong" in capsys.readouterr().out


MODULES = [
    "thresher",
    "thresher._index",
    "thresher._knn",
    "thresher.faiss",
    "thresher.umap",
    "thresher.implicit",
    "thresher.sklearn",
]


@pytest.mark.parametrize("module", MODULES)
def test_docstrings(module):
    if module.count(".") and not module.split(".")[1].startswith("_"):
        pytest.importorskip(module.split(".")[1])
    done = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert done.failed == 0


def test_public_names_have_docstrings():
    thresher = importlib.import_module("thresher")
    for name in thresher.__all__:
        assert getattr(thresher, name).__doc__
        for method, value in vars(getattr(thresher, name)).items() if isinstance(getattr(thresher, name), type) else ():
            if callable(value) and not method.startswith("_"):
                assert value.__doc__, f"{name}.{method}"
