package simd

import (
	"fmt"
	"slices"
	"strings"
)

// Level is an instruction set and names its kernels. All levels compute the same
// integers bit for bit, and floats within the bounds each kernel states.
type Level uint8

const (
	// Generic is portable Go; every processor runs it.
	Generic Level = iota
	// AVX2 needs AVX2, FMA, POPCNT and BMI1.
	AVX2
	// AVX512 needs AVX-512 F, BW, DQ, VL and VNNI.
	AVX512
	// NEON needs arm64 with FEAT_DotProd, the dot products of bytes.
	NEON
)

// levels are those this processor runs, slowest first. GODEBUG hides some:
// cpu.avx512f=off leaves AVX2; cpu.avx2=off and cpu.asimddp=off leave Generic.
var levels = detect()

var best = levels[len(levels)-1]

// Best returns the fastest level this processor runs.
func Best() Level { return best }

// Levels lists the levels this processor runs, the slowest, Generic, first.
func Levels() []Level { return slices.Clone(levels) }

var levelNames = [...]string{"generic", "avx2", "avx512", "neon"}

// String returns the name that ParseLevel takes.
func (l Level) String() string { return levelNames[l] }

// ParseLevel returns the named level; "" and "auto" stand for Best. It fails for an
// unknown name and for a level this processor does not run.
func ParseLevel(name string) (Level, error) {
	if name == "" || name == "auto" {
		return best, nil
	}
	for i, s := range levelNames {
		if s != name {
			continue
		}
		if l := Level(i); slices.Contains(levels, l) {
			return l, nil
		}
		return 0, fmt.Errorf("kernels %q: this processor runs %s", name, join(levels))
	}
	return 0, fmt.Errorf("kernels %q: want auto, %s", name, strings.Join(levelNames[:], ", "))
}

func join(of []Level) string {
	names := make([]string, len(of))
	for i, l := range of {
		names[i] = l.String()
	}
	return strings.Join(names, ", ")
}
