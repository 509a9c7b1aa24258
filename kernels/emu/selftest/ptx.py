"""ptx.py OUT: compiles the selftest's kernels to OUT/*.ptx as kernels/toolchain compiles kernels/*.cu, and
assembles them for every GPU that ptxas supports, so that the real compiler checks every function of the
dialect. It needs the packages that kernels/toolchain/install.sh installs."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parents[1] / "toolchain"))

import manifest  # noqa: E402
import ptx  # noqa: E402
import ptxas  # noqa: E402
from nvrtc import Compiler  # noqa: E402

TOOLS = HERE.parents[2] / "build" / "cuda"


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    compiler, made = Compiler(TOOLS), []
    dialect = {"dev.cuh": (HERE.parents[1] / "dev.cuh").read_bytes()}
    for source in sorted(HERE.glob("*.cu")):
        made.append(out / f"{source.stem}.ptx")
        text = compiler.compile(source.name, source.read_bytes(), dialect, manifest.FLAGS).decode()
        made[-1].write_text(ptx.lowered(text))
    assembled = sum(1 for _ in ptxas.assemble_all(TOOLS, made, {}))
    print(f"{len(made)} files of test kernels compiled, assembled {assembled} times")


main(Path(sys.argv[1]))
