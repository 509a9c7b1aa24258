//go:build !unix

package cli

import "math"

// FileDescriptors returns how many files the process may have open; false if it is not known.
func FileDescriptors() (int, bool) { return 0, false }

func heapBelowDataLimit() int64 { return math.MaxInt64 }
