//go:build !unix

package main

import "math"

func freeAddresses() (int64, bool) { return 0, false }

func fileDescriptors() (int, bool) { return 0, false }

func heapBelowDataLimit() int64 { return math.MaxInt64 }
