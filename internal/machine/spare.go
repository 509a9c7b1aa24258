package machine

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// Spare returns the number of bytes that one piece of work of this process may take: three quarters of the least of what
// is free on the machine, in the control groups, in the address space and the private memory of the process, and below GOMEMLIMIT; 0 if unknown.
func Spare() int64 {
	least := int64(math.MaxInt64)
	for _, free := range []func() (int64, bool){freeHere, freeAddresses, freeData, freeBelowLimit} {
		if n, ok := free(); ok {
			least = min(least, max(n, 0))
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return max(least/4*3, 1)
}

// SpareFor is Spare after what is not in use any more was given back, if that is less than need bytes: until then it counts as
// taken.
func SpareFor(need int64) int64 {
	spare := Spare()
	if spare == 0 || spare >= need {
		return spare
	}
	debug.FreeOSMemory()
	return Spare()
}

// freeHere is Free of the machine itself.
func freeHere() (int64, bool) { return Free(os.DirFS("/")) }

func freeBelowLimit() (int64, bool) {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return 0, false
	}
	return limit - Taken(), true
}

// Taken returns what counts for GOMEMLIMIT of the memory of this process, in bytes.
func Taken() int64 {
	taken := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(taken)
	return int64(taken[0].Value.Uint64() - taken[1].Value.Uint64())
}

// idle returns the bytes of the heap that are mapped and not in use.
func idle() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() + s[1].Value.Uint64())
}
