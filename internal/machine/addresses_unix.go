//go:build unix

package machine

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

// freeData returns the private memory that the process may still use: what it may map, and what the heap has mapped and does not use.
func freeData() (int64, bool) {
	limit, mapped, ok := Data()
	return limit - mapped + idle(), ok
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
