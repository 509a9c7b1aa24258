package simd

import (
	"fmt"
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
)

// best is the highest level this processor runs, chosen once. GODEBUG lowers it:
// cpu.avx512f=off to AVX2, cpu.avx2=off to Generic.
var best = detect()

// Best returns the highest level this processor runs.
func Best() Level { return best }

// Levels lists the levels this processor runs, Generic first.
func Levels() []Level {
	var l []Level
	for v := Generic; v <= best; v++ {
		l = append(l, v)
	}
	return l
}

var levelNames = [...]string{"generic", "avx2", "avx512"}

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
		if Level(i) > best {
			return 0, fmt.Errorf("kernels %q: this processor runs %v at most", name, best)
		}
		return Level(i), nil
	}
	return 0, fmt.Errorf("kernels %q: want auto, %s", name, strings.Join(levelNames[:], ", "))
}
