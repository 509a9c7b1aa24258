package slate

import "math"

// A packed factor holds the rows of L^T from the diagonal on, so that every loop
// below runs along memory: row g begins at its diagonal and has d-g numbers.

// rankOne makes the factor of L L^T + x x^T out of that of L L^T, by plane
// rotations that turn x into zeros (Gill, Golub, Murray, Saunders, "Methods for
// modifying matrix factorizations", Mathematics of Computation 28, 1974). x is
// lost.
func rankOne(upper, x []float64) {
	for g, v := range x {
		row := upper[:len(x)-g]
		upper = upper[len(row):]
		if v == 0 {
			continue
		}
		r := math.Hypot(row[0], v)
		c, s := row[0]/r, v/r
		row[0] = r
		rest := x[g+1:]
		row = row[1:]
		for h, z := range rest {
			u := row[h]
			row[h] = c*u + s*z
			rest[h] = c*z - s*u
		}
	}
}

// forward solves L z = x in place.
func forward(upper, x []float64) {
	for g, v := range x {
		row := upper[:len(x)-g]
		upper = upper[len(row):]
		if v == 0 {
			continue
		}
		v /= row[0]
		x[g] = v
		rest := x[g+1:]
		row = row[1:]
		for h, u := range row {
			rest[h] -= v * u
		}
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

// logDet is ln det(L L^T) of d rows.
func logDet(upper []float64, d int) float64 {
	var s float64
	for step := d; step > 0; step-- {
		s += math.Log(upper[0])
		upper = upper[step:]
	}
	return 2 * s
}
