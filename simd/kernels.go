package simd

import (
	"fmt"
	"slices"
	"strings"
)

// Kernels is the set of kernels for one instruction set. All sets compute the same
// integers bit for bit, and floats within the bounds that each kernel states.
type Kernels uint8

const (
	// Generic is portable Go; every processor runs it.
	Generic Kernels = iota
	// AVX2 needs AVX2, FMA, POPCNT and BMI1.
	AVX2
	// AVX512 needs AVX-512 F, BW, DQ, VL and VNNI.
	AVX512
	// NEON needs arm64 with FEAT_DotProd, the dot products of bytes.
	NEON
)

// available are the sets this processor runs, slowest first. GODEBUG hides some:
// cpu.avx512f=off leaves AVX2; cpu.avx2=off and cpu.asimddp=off leave Generic.
var available = detect()

var best = available[len(available)-1]

// Best returns the fastest set this processor runs.
func Best() Kernels { return best }

// Available lists the sets this processor runs, slowest first; the first is Generic.
func Available() []Kernels { return slices.Clone(available) }

var kernelNames = [...]string{"generic", "avx2", "avx512", "neon"}

// String returns the name that Parse takes.
func (kern Kernels) String() string { return kernelNames[kern] }

// Parse returns the named set; "" and "auto" stand for Best. It fails for an
// unknown name and for a set this processor does not run.
func Parse(name string) (Kernels, error) {
	if name == "" || name == "auto" {
		return best, nil
	}
	for i, s := range kernelNames {
		if s != name {
			continue
		}
		if kern := Kernels(i); slices.Contains(available, kern) {
			return kern, nil
		}
		return 0, fmt.Errorf("kernels %q: this processor runs %s", name, join(available))
	}
	return 0, fmt.Errorf("kernels %q: want auto, %s", name, strings.Join(kernelNames[:], ", "))
}

func join(of []Kernels) string {
	names := make([]string, len(of))
	for i, kern := range of {
		names[i] = kern.String()
	}
	return strings.Join(names, ", ")
}
