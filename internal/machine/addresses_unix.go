//go:build unix

package machine

import (
	"math"
	"os"
	"runtime"
	"runtime/metrics"
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
	mapped, _ := statm(0)
	return int64(limit.Cur) - mapped, true
}

// Data returns how many bytes of private memory the process may have (ulimit -d), and how many it has mapped, most of which may not be in
// use: stacks of threads, what the runtime and C set aside, and what the heap has given back.
func Data() (limit, mapped int64, ok bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &l); err != nil || l.Cur > math.MaxInt64 {
		return 0, 0, false
	}
	if mapped, ok = statm(5); !ok { // no Linux: what the runtime has is most of it
		mapped = Taken()
	}
	return int64(l.Cur), mapped, true
}

// freeData returns the private memory that the process may still use: what it may map, less what the runtime will, and what the heap
// has mapped and does not use.
func freeData() (int64, bool) {
	limit, mapped, ok := Data()
	return unmapped(limit, mapped, ComingThreads()) + idle(), ok
}

// unmapped returns what of a limit is left for the heap to map beside threads to come and tables. They take nothing of what the heap
// has mapped already, so that it is 0 where they have no room.
func unmapped(limit, mapped, threads int64) int64 {
	return max(0, limit-mapped-threads-tableBytes)
}

const (
	// threadBytes is what C maps of a thread beside its stack, its arena.
	threadBytes = 132<<10 + 4096
	// tableBytes is what the runtime maps for its tables when the heap takes a further arena of 64 MB, in pieces of 256 kB, and what
	// it takes more of an arena than is asked for, which is 4 MB at a time.
	tableBytes = 5 << 20
	// idleThreads is how many threads there are beside those that run Go code, of the runtime and for what waits in calls of the
	// system: commands on two processors were seen with 7 and 8 in all. maxThreads is the most that are counted on.
	idleThreads, maxThreads = 5, 40
	defaultStack            = 8 << 20 // of threads where there is no limit
)

// ComingThreads returns what the threads that this process may be expected to start yet map of private memory: each its stack whole
// (ulimit -s), however little of it is used.
func ComingThreads() int64 {
	each := uint64(defaultStack)
	var stack unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_STACK, &stack) == nil && stack.Cur < 1<<30 {
		each = stack.Cur
	}
	s := []metrics.Sample{{Name: "/sched/threads/total:threads"}}
	metrics.Read(s)
	coming := int64(min(runtime.GOMAXPROCS(0)+idleThreads, maxThreads)) - int64(s[0].Value.Uint64())
	return max(0, coming) * (int64(each) + threadBytes)
}

// statm returns a field of /proc/self/statm (proc_pid_statm(5)), in bytes.
func statm(field int) (int64, bool) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	words := strings.Fields(string(text))
	if len(words) <= field {
		return 0, false
	}
	pages, err := strconv.ParseInt(words[field], 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}
