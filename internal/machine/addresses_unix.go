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
	var mapped int64
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if words := strings.Fields(string(text)); len(words) > 0 {
			pages, _ := strconv.ParseInt(words[0], 10, 64) // 0 if it is not a number
			mapped = pages * int64(os.Getpagesize())
		}
	}
	return int64(limit.Cur) - mapped, true
}
