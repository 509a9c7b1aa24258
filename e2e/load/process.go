//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of processor times in /proc, the same on all Linux.
const tick = time.Second / 100

// processor returns the processor time of a process, all threads included.
func processor(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(text), ") ") // a name may contain anything
	fields := strings.Fields(rest)
	if !ok || len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat is %q", pid, text)
	}
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, err
	}
	return time.Duration(user+system) * tick, nil
}

// memory returns the present and the peak resident memory of a process in bytes.
func memory(pid int) (now, most int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kib); err == nil {
			now = kib << 10
		}
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			most = kib << 10
		}
	}
	return now, most, nil
}

// forgetPeak resets the peak of memory; not every system allows it.
func forgetPeak(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// descriptors returns how many files and connections a process has open.
func descriptors(pid int) (int, error) {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(list), err
}

// limitFiles sets the greatest size of a file that a running process may write, in bytes, like
// ulimit -f; -1 is no limit.
func limitFiles(pid int, most int64) error {
	var old unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &old); err != nil {
		return fmt.Errorf("limit of file sizes: %w", err)
	}
	next := unix.Rlimit{Cur: uint64(most), Max: old.Max}
	if most < 0 {
		next.Cur = old.Max
	}
	return unix.Prlimit(pid, unix.RLIMIT_FSIZE, &next, nil)
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
