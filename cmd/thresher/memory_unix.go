//go:build unix

package main

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// freeAddresses returns the address space that the process may still map: ulimit -v.
func freeAddresses() (int64, bool) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil || limit.Cur > math.MaxInt64 {
		return 0, false
	}
	var mapped int64
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if words := strings.Fields(string(text)); len(words) > 0 {
			pages, _ := strconv.ParseInt(words[0], 10, 64) // 0 if it is not a number
			mapped = pages * int64(os.Getpagesize())
		}
	}
	return int64(limit.Cur) - mapped, true
}

// heapShare is the part of a limit on private memory that the heap may have. The rest is for stacks, the
// runtime's tables, and holes between what is allocated.
const heapShare = .8

// boundHeap has the garbage collector keep the heap below the limit on private memory (ulimit -d), unless
// GOMEMLIMIT says what to keep it below: without a bound the heap may grow to twice what is in use, and a
// process that reaches the limit dies.
func boundHeap() {
	var limit unix.Rlimit
	if os.Getenv("GOMEMLIMIT") != "" || unix.Getrlimit(unix.RLIMIT_DATA, &limit) != nil || limit.Cur > math.MaxInt64 {
		return
	}
	debug.SetMemoryLimit(int64(heapShare * float64(limit.Cur)))
}
