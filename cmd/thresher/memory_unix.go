//go:build unix

package main

import (
	"math"
	"os"
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

// fileDescriptors returns how many files the process may have open (ulimit -n).
func fileDescriptors() (int, bool) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return int(min(limit.Cur, math.MaxInt32)), true
}

// heapOfData is the part of a limit on private memory (ulimit -d) that the heap may have: stacks and
// the runtime's tables count, too.
const heapOfData = .8

// heapBelowDataLimit returns what the heap may have below the limit on private memory.
func heapBelowDataLimit() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_DATA, &limit) != nil || limit.Cur > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(heapOfData * float64(limit.Cur))
}
