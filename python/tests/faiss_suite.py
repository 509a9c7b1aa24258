"""Run FAISS's own Python tests with thresher.faiss in the place of faiss: docs/faiss.md.

    git clone https://github.com/facebookresearch/faiss
    python tests/faiss_suite.py faiss

faiss-cpu has to be installed: it gives the tests their random numbers, which are not what is tested. Tests that FAISS
repeats for each of its levels of SIMD are run once. A test that uses anything else that thresher.faiss lacks is counted
as such, with the first name; one that fails without is a failure.
"""

from __future__ import annotations

import argparse
import collections
import sys
import types
from pathlib import Path

import faiss as theirs
import pytest

import thresher.faiss as ours

# What tests take from FAISS beside what they test.
SUPPORT = (
    "rand",
    "randn",
    "randint",
    "rand_smooth_vectors",
    "cvar",
    "swig_version",
    "get_compile_options",
    "__version__",
)


class SIMDConfig:
    """One level of SIMD."""

    @staticmethod
    def is_simd_level_available(level):
        return level == theirs.SIMDLevel_NONE

    @staticmethod
    def get_level():
        return theirs.SIMDLevel_NONE

    get_dispatched_level = get_level

    @staticmethod
    def set_level(level):
        pass


class Lacking(BaseException):
    """The use of a name that thresher.faiss lacks, which no test catches."""


class Unparsed(RuntimeError):
    """A description of an index that is not flat, which is an error that tests may expect."""


class Absent(type):
    """The class of what stands for names that thresher.faiss lacks, with which tests can be read."""

    def __getattr__(cls, name):
        return absent(name) if name.startswith("__") else absent(f"{cls.__name__}.{name}")

    def __call__(cls, *args, **named):
        raise Lacking(cls.__name__)

    def __iter__(cls):
        raise Lacking(cls.__name__)

    def __or__(cls, other):
        raise Lacking(cls.__name__)

    def __eq__(cls, other):
        if isinstance(other, int):
            raise Lacking(cls.__name__)
        return cls is other

    __hash__ = type.__hash__


def absent(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Absent(name, (), {})


def index_factory(d, description, metric=ours.METRIC_L2, *rest):
    try:
        return ours.index_factory(d, description, metric)
    except RuntimeError as e:
        raise Unparsed(f'index_factory "{description}"') from e


def shim(checkout):
    """Return a module with thresher.faiss's names, and FAISS's own modules that are pure Python."""
    module = types.ModuleType("faiss")
    module.__path__ = [str(checkout)]  # of faiss.contrib
    for name in ours.__all__:
        setattr(module, name, getattr(ours, name))
    for name in (*SUPPORT, *(name for name in dir(theirs) if name.startswith("SIMDLevel_"))):
        setattr(module, name, getattr(theirs, name))
    module.index_factory, module.SIMDConfig = index_factory, SIMDConfig
    module.__getattr__ = absent
    return module


class Count:
    """A plugin that counts outcomes."""

    def __init__(self):
        self.passed, self.skipped, self.lacking, self.failed = 0, 0, collections.Counter(), []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        if report.skipped:
            self.skipped += 1
        elif report.failed:
            if name := lacked(call.excinfo.value):
                self.lacking[name] += 1
            else:
                self.failed.append((item.nodeid, call.excinfo.exconly().splitlines()[0]))
        elif report.when == "call":
            self.passed += 1

    def pytest_collectreport(self, report):
        if report.failed:
            self.failed.append((report.nodeid, str(report.longrepr).splitlines()[-1]))


def lacked(error):
    """Return the name for lack of which there was an error, if there was."""
    while error is not None:
        if isinstance(error, (Lacking, Unparsed)):
            return str(error)
        error = error.__cause__ or error.__context__
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a clone of FAISS")
    parser.add_argument("tests", nargs="*", help="files of tests; all but those of GPUs and of binary vectors")
    args = parser.parse_args()
    sys.modules["faiss"] = shim(args.checkout)
    sys.path.insert(0, str(args.checkout / "tests"))
    files = args.tests or sorted(
        str(path)
        for path in (args.checkout / "tests").glob("test_*.py")
        if not any(word in path.name for word in ("gpu", "binary"))
    )
    count = Count()
    pytest.main(["-q", "-p", "no:cacheprovider", "--tb=no", "--no-header", "-rN", *files], plugins=[count])
    print(f"{count.passed} passed, {len(count.failed)} failed, {count.skipped} skipped")
    print(f"{sum(count.lacking.values())} use what thresher.faiss lacks:")
    for name, number in count.lacking.most_common():
        print(f"  {number:4} {name}")
    for test, error in count.failed:
        print(f"FAILED {test}: {error}")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
