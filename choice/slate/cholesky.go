package slate

import "math"

// A packed factor holds the rows of L^T from the diagonal on, so that every loop below is
// sequential in memory: row g starts at its diagonal and has d-g numbers.

// rankOne updates the factor of L L^T to that of L L^T + x x^T, by plane rotations that
// zero x (Gill, Golub, Murray, Saunders, "Methods for modifying matrix factorizations",
// Mathematics of Computation 28, 1974). It overwrites x.
func rankOne(upper, x []float64) {
	for g, v := range x {
		row := upper[:len(x)-g]
		upper = upper[len(row):]
		if v == 0 {
			continue
		}
		r := math.Sqrt(row[0]*row[0] + v*v)
		c, s := row[0]/r, v/r
		row[0] = r
		row = row[1:]
		rest := x[g+1:]
		rest = rest[:len(row)]
		for h, u := range row {
			z := rest[h]
			row[h] = c*u + s*z
			rest[h] = c*z - s*u
		}
	}
}

// forward solves L z = x in place, two unknowns at a time, which halves the loads and
// stores of the rest. Gains of few topics are mostly zeros, which are skipped.
func forward(upper, x []float64) {
	for len(x) > 1 {
		first, second := upper[:len(x)], upper[len(x):2*len(x)-1]
		upper = upper[2*len(x)-1:]
		v, w := x[0], x[1]
		if v != 0 {
			v /= first[0]
			w -= v * first[1]
		}
		if w != 0 {
			w /= second[0]
		}
		x[0], x[1] = v, w
		x = x[2:]
		if v == 0 && w == 0 {
			continue
		}
		first, second = first[2:], second[1:]
		first, second = first[:len(x)], second[:len(x)]
		for h, z := range x {
			x[h] = z - v*first[h] - w*second[h]
		}
	}
	if len(x) == 1 {
		x[0] /= upper[0]
	}
}

// backward solves L^T z = x in place.
func backward(upper, x []float64) {
	end := len(upper)
	for g := len(x) - 1; g >= 0; g-- {
		row := upper[end-(len(x)-g) : end]
		end -= len(row)
		x[g] = (x[g] - dot(row[1:], x[g+1:])) / row[0]
	}
}

// logDet returns ln det(L L^T) for d rows.
func logDet(upper []float64, d int) float64 {
	var s float64
	for step := d; step > 0; step-- {
		s += math.Log(upper[0])
		upper = upper[step:]
	}
	return 2 * s
}

// identity sets upper to the factor of root^2 I, of d rows.
func identity(upper []float64, d int, root float64) {
	clear(upper)
	for step := d; step > 0; step-- {
		upper[0] = root
		upper = upper[step:]
	}
}

// longest returns the largest norm of a row of d numbers.
func longest(d int, rows []float64) float64 {
	best := 0.0
	for ; len(rows) >= d; rows = rows[d:] {
		best = max(best, dot(rows[:d], rows[:d]))
	}
	return math.Sqrt(best)
}

func dot(a, b []float64) float64 {
	b = b[:len(a)]
	var s float64
	for i, x := range a {
		s += x * b[i]
	}
	return s
}
