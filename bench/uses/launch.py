"""Runs a command and writes its exit code, seconds and greatest resident memory to a file:

    python launch.py FILE COMMAND ARGUMENT ...

A process inherits the greatest memory of the one that forked it, so the measured one is forked by
this small one."""

import json
import os
import sys
import time

began = time.perf_counter()
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
seconds = time.perf_counter() - began
code = os.waitstatus_to_exitcode(status)
with open(sys.argv[1], "w") as f:
    json.dump({"code": code, "seconds": seconds, "peak": usage.ru_maxrss * 1024}, f)
sys.exit(code if code >= 0 else 128 - code)
