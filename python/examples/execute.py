"""Runs the examples: every script here, and every cell of the notebook, in LIMIT at most.

``python execute.py FOLDER`` also writes the notebook with its plots to FOLDER.
"""

from __future__ import annotations

import faulthandler
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
LIMIT = 600  # seconds


def main() -> None:
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    for script in sorted(HERE.glob("*.py")):
        if script.name != Path(__file__).name:
            print(script.name, flush=True)
            runpy.run_path(str(script), run_name="__main__")
    import nbclient
    import nbformat

    for path in sorted(HERE.glob("*.ipynb")):
        print(path.name, flush=True)
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
        if len(sys.argv) > 1:
            nbformat.write(notebook, Path(sys.argv[1], path.name))  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
