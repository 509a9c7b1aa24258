package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// spareMemory returns the number of bytes that one piece of work may take: three quarters of
// the least of what is free on the machine, in the control group, in the address space of the
// process, and below GOMEMLIMIT; 0 if unknown.
func spareMemory() int64 {
	least := int64(math.MaxInt64)
	for _, free := range []func() (int64, bool){freeOnMachine, freeInGroup, freeAddresses, freeBelowLimit} {
		if n, ok := free(); ok {
			least = min(least, max(n, 0))
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return max(least/4*3, 1)
}

// needMemory refuses work that would take more than spareMemory.
func needMemory(what string, bytes float64) error {
	if spare := spareMemory(); spare > 0 && bytes > float64(spare) {
		return fmt.Errorf("%s needs up to %.0f bytes of memory; %d are available (three quarters of what is free)", what, bytes, spare)
	}
	return nil
}

func freeOnMachine() (int64, bool) {
	kib, ok := field("/proc/meminfo", "MemAvailable:")
	return kib << 10, ok
}

// freeInGroup returns the free memory of the control group (version 2), including file
// caches.
func freeInGroup() (int64, bool) {
	const dir = "/sys/fs/cgroup"
	text, err := os.ReadFile(filepath.Join(dir, "memory.max"))
	if err != nil {
		return 0, false
	}
	most, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	taken, ok := field(filepath.Join(dir, "memory.stat"), "anon")
	return most - taken, err == nil && ok // there may be no limit: "max"
}

func freeBelowLimit() (int64, bool) {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return 0, false
	}
	taken := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(taken)
	return limit - int64(taken[0].Value.Uint64()-taken[1].Value.Uint64()), true
}

// field reads the number after a name at the beginning of a line.
func field(path, name string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name {
			n, err := strconv.ParseInt(words[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
