// Package emulator gives tests access to counters of kernels/emu that a CUDA driver lacks: live
// allocations, launches, waits. It reports whether the driver in use is the emulator.
package emulator
