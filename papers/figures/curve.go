package figures

import (
	"fmt"
	"math"
	"slices"
)

// curve is the rows of one line, in ascending order of X.
type curve []Row

func merged(a, b curve) curve { return slices.Concat(a, b) }

// first and last return a row, or none if the line is empty.
func (c curve) first() Row {
	if len(c) == 0 {
		return Row{}
	}
	return c[0]
}

func (c curve) last() Row {
	if len(c) == 0 {
		return Row{}
	}
	return c[len(c)-1]
}

// peak returns the row of the greatest Y.
func (c curve) peak() Row {
	best := c.first()
	for _, r := range c {
		if r.Y > best.Y {
			best = r
		}
	}
	return best
}

// bend is the exponent with which Y grows with X, by least squares of the logarithms; 0 for fewer than two rows.
func (c curve) bend() float64 {
	if len(c) < 2 {
		return 0
	}
	var x, y []float64
	for _, r := range c {
		x, y = append(x, math.Log(r.X)), append(y, math.Log(r.Y))
	}
	mx, _ := meanSD(x)
	my, _ := meanSD(y)
	var sxy, sxx float64
	for i := range x {
		sxy += (x[i] - mx) * (y[i] - my)
		sxx += (x[i] - mx) * (x[i] - mx)
	}
	return sxy / sxx
}

// jump returns the two neighbours between which Y grows most, and the factor.
func (c curve) jump() (from, to, factor float64) {
	factor = 1
	for i := 1; i < len(c); i++ {
		if f := c[i].Y / c[i-1].Y; f > factor {
			from, to, factor = c[i-1].X, c[i].X, f
		}
	}
	return from, to, factor
}

// spread is a standard deviation as a share of the mean.
func spread(r Row) float64 {
	if r.Y == 0 {
		return 0
	}
	return r.YSD / r.Y
}

// shares is a range of shares.
type shares struct{ low, high float64 }

func (c curve) spread() (s shares) {
	for i, r := range c {
		x := spread(r)
		if i == 0 {
			s = shares{x, x}
		}
		s.low, s.high = min(s.low, x), max(s.high, x)
	}
	return s
}

// with widens a range to hold x; the range of nothing is 0.
func (s shares) with(x float64) shares {
	if s == (shares{}) {
		return shares{x, x}
	}
	return shares{min(s.low, x), max(s.high, x)}
}

func (s shares) String() string { return fmt.Sprintf("%.0f to %.0f%%", 100*s.low, 100*s.high) }
