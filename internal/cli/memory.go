package cli

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"

	"thresher/internal/machine"
)

// SpareMemory returns the number of bytes that one piece of work may take, as [machine.Spare] has it; 0 if unknown.
func SpareMemory() int64 { return machine.Spare() }

// NeedMemory refuses work that would take more than SpareMemory, once what is not in use any more was given back.
func NeedMemory(what string, bytes float64) error {
	if spare := machine.SpareFor(int64(min(bytes, math.MaxInt64/2))); spare > 0 && bytes > float64(spare) {
		return fmt.Errorf("%s needs up to %.0f bytes of memory; %d are available (three quarters of what is free)", what, bytes, spare)
	}
	return nil
}

// RoomFor returns what asks NeedMemory for what is read (dataset.Room).
func RoomFor(what string) func(bytes int64) error {
	return func(bytes int64) error { return NeedMemory("reading "+what, float64(bytes)) }
}

// GrowHeapBy has the garbage collector keep the heap below what it is now and so many bytes more, by LowerHeap:
// work that was divided by SpareMemory leaves no room for as much again of what is not in use any more.
func GrowHeapBy(bytes int64) { LowerHeap(machine.Taken() + bytes) }

// heapOfMemory is the part of the memory of a process that its heap may have. The rest is for
// stacks, the runtime's tables, and holes between what is allocated.
const heapOfMemory = .9

// boundHeap has the garbage collector keep the heap below what ulimit -d and the control groups of
// the process allow, unless GOMEMLIMIT says what to keep it below: without a bound the heap may grow
// to twice what is in use, and a process that reaches the limit dies.
func boundHeap() {
	most := heapBelowDataLimit()
	if group, ok := machine.Limit(os.DirFS("/")); ok && group.Of != machine.Whole {
		most = min(most, HeapOf(group.Bytes))
	}
	LowerHeap(most)
}

// HeapOf returns what the heap of a process may have that may take so many bytes.
func HeapOf(memory int64) int64 { return int64(heapOfMemory * float64(memory)) }

// LowerHeap has the garbage collector keep the heap below a number of bytes, unless it is below
// less already, or GOMEMLIMIT says what to keep it below.
func LowerHeap(most int64) {
	if os.Getenv("GOMEMLIMIT") == "" && most < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(most)
	}
}
