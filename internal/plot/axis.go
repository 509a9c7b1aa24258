package plot

import (
	"math"
	"strconv"

	gonum "gonum.org/v1/plot"
)

// scaleAxis scales an axis over [lo, hi] and ticks it at round numbers.
func scaleAxis(a *gonum.Axis, lo, hi float64, log bool) {
	var at []float64
	if log {
		a.Scale = gonum.LogScale{}
		at = ladder(lo, hi)
	} else {
		at = steps(lo, hi)
	}
	ticks := make(gonum.ConstantTicks, len(at))
	for i, v := range at {
		ticks[i] = gonum.Tick{Value: v, Label: label(v)}
	}
	a.Tick.Marker = ticks
	a.Min, a.Max = at[0], at[len(at)-1]
}

// nameAxis ticks an axis at 0, 1, .. with names.
func nameAxis(a *gonum.Axis, names []string) {
	ticks := make(gonum.ConstantTicks, len(names))
	for i, name := range names {
		ticks[i] = gonum.Tick{Value: float64(i), Label: name}
	}
	a.Tick.Marker = ticks
	a.Min, a.Max = -.3, float64(len(names))-.7
}

// steps returns a few multiples of 1, 2 or 5 times a power of ten, from the last at most lo
// to the first at least hi.
func steps(lo, hi float64) []float64 {
	const most = 6
	if hi <= lo {
		lo, hi = lo-math.Max(1, math.Abs(lo))/2, hi+math.Max(1, math.Abs(hi))/2
	}
	unit := math.Pow(10, math.Floor(math.Log10((hi-lo)/most)))
	step := 10 * unit
	for _, f := range []float64{1, 2, 5} {
		if f*unit*most >= hi-lo {
			step = f * unit
			break
		}
	}
	first, last := math.Floor(lo/step+1e-9), math.Ceil(hi/step-1e-9)
	var at []float64
	for i := first; i <= last; i++ {
		at = append(at, i*step)
	}
	return at
}

// ladder returns 1, 2, 5, 10, ... from the last step at most lo to the first at least hi;
// over many decades only powers of ten.
func ladder(lo, hi float64) []float64 {
	const few = 2 // decades
	factors := []float64{1, 2, 5}
	if math.Log10(hi/lo) > few {
		factors = factors[:1]
	}
	var at []float64
	for decade := math.Floor(math.Log10(lo)); ; decade++ {
		for _, f := range factors {
			v := f * math.Pow(10, decade)
			if v <= lo*(1+1e-9) {
				at = at[:0]
			}
			at = append(at, v)
			if v >= hi*(1-1e-9) && len(at) > 1 {
				return at
			}
		}
	}
}

// label formats a number briefly: 20k for 20,000.
func label(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e6, "M"}, {1e3, "k"}, {1, ""}} {
		if math.Abs(v) >= unit.size && math.Abs(v) < 1e9 {
			return strconv.FormatFloat(v/unit.size, 'g', 4, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
