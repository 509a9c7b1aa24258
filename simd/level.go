package simd

import (
	"fmt"
	"slices"
	"strings"
)

// Level is a set of kernels. Every level computes the same: integers bit for
// bit, floats within the bounds each kernel states.
type Level uint8

const (
	// Generic is portable Go, compiled everywhere.
	Generic Level = iota
	// AVX2 needs AVX2, FMA, POPCNT and BMI1.
	AVX2
	// AVX512 needs AVX-512 F, BW, DQ, VL and VNNI.
	AVX512
	// NEON is arm64's; it needs the dot products of bytes of FEAT_DotProd.
	NEON
)

// levels are those this processor runs, chosen once. GODEBUG takes some away:
// cpu.avx512f=off leaves AVX2, cpu.avx2=off and cpu.asimddp=off Generic.
var levels = detect()

// best is the fastest of them.
var best = levels[len(levels)-1]

// Best returns the fastest level this processor runs.
func Best() Level { return best }

// Levels lists the levels this processor runs, the slowest, Generic, first.
func Levels() []Level { return slices.Clone(levels) }

var levelNames = [...]string{"generic", "avx2", "avx512", "neon"}

// String is the name ParseLevel takes.
func (l Level) String() string { return levelNames[l] }

// ParseLevel returns the level of a name; "auto" is the best one. It refuses a
// level this processor does not run.
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
