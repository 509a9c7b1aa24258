package slate

import "math"

// rounding is twice the distance from 1 to the next float64, more than the relative
// rounding error of one operation.
const rounding = 0x1p-51

// unclear is the relative error of deviations from which on bounds are not useful.
const unclear = 0x1p-8

// negligible is the least bound, so that quotients do not underflow.
const negligible = 0x1p-600

// vanishing covers the underflow of squares: the root of 2^-1074, with room for its
// factors.
const vanishing = 0x1p-530

// ceiling bounds the UCB scores of one user by a function that is monotone in every
// coordinate of a gain x >= 0:
//
//	theta.x + beta sqrt(x^T M^-1 x)  <=  p.x + sqrt(sum_g w_g^2 x_g^2)
//
// with p_g = max(theta_g, 0) and w_g^2 = beta^2 sum_h max((M^-1)_gh, 0), since
// x_g x_h a <= (x_g^2 + x_h^2) a/2 for a >= 0. Being monotone, its value at the envelope
// of a cell bounds all items of the cell, and the bound of an item holds after every
// longer list as well; neither is true of a score. For features >= 0 most off-diagonal
// entries of M^-1 are negative, so w is much tighter than beta times the root of the
// largest eigenvalue at the same cost of two products. For a single item theta.x replaces
// p.x.
//
// p and w include the rounding error of the scores as computed, so the bounds hold for
// the figures that decide.
type ceiling struct {
	theta, p, w []float64
	lost        float64 // to squares that underflow, for entries up to 1
}

func newCeilings(n, d int) []ceiling {
	all := make([]float64, 3*n*d)
	c := make([]ceiling, n)
	for i := range c {
		at := all[3*i*d:]
		c[i] = ceiling{theta: at[:d:d], p: at[d : 2*d : 2*d], w: at[2*d : 3*d : 3*d]}
	}
	return c
}

// set computes the bounds of a user. columns is scratch for d*d numbers. It returns false
// if M is too close to singular, or a figure too large, for useful bounds.
func (c *ceiling) set(e *Estimator, beta float64, columns []float64) bool {
	e.Weights(c.theta)
	for g, t := range c.theta {
		c.p[g] = max(t, 0) + float64(e.d+8)*rounding*math.Abs(t)
	}
	if !c.widths(e, beta, columns) || !c.usable() {
		return false
	}
	// Squares of entries, of w and of their products, and of the deviations may underflow.
	c.lost = 1 + beta
	for _, w := range c.w {
		c.lost += w
	}
	c.lost *= vanishing * math.Sqrt(float64(e.d))
	return true
}

// widths sets w. It returns false as set does.
func (c *ceiling) widths(e *Estimator, beta float64, columns []float64) bool {
	d := e.d
	if e.Cold() {
		for g := range c.w {
			c.w[g] = beta / math.Sqrt(e.lambda) * (1 + float64(d+8)*rounding)
		}
		return true
	}
	var size, inverse float64 // ||L||^2 and ||L^-1||^2
	for _, x := range e.upper {
		size += x * x
	}
	clear(columns)
	for g := range d {
		z := columns[g*d : (g+1)*d]
		z[g] = 1
		forward(e.upper, z)
		inverse += dot(z, z)
	}
	// Substitution solves (L+E) z = x for some |E| <= d u |L| (Higham, Accuracy and Stability
	// of Numerical Algorithms, Theorem 8.5), so z has a relative error of at most
	// d u ||L|| ||L^-1||, in the scores and in the columns here.
	loss := 4 * float64(d+8) * rounding * math.Sqrt(size*inverse)
	if !(loss < unclear) {
		return false
	}
	clear(c.w)
	for g := range d {
		z := columns[g*d : (g+1)*d]
		for h := range g + 1 {
			y := columns[h*d : (h+1)*d]
			a := dot(y[g:], z[g:]) // column g begins with g zeros
			a += loss * math.Sqrt(dot(y, y)*dot(z, z))
			if a <= 0 {
				continue
			}
			c.w[g] += a
			if h != g {
				c.w[h] += a
			}
		}
	}
	for g, s := range c.w {
		c.w[g] = beta * math.Sqrt(s) * (1 + loss)
	}
	return true
}

// usable reports whether all figures are finite and small enough to be multiplied.
func (c *ceiling) usable() bool {
	for g, t := range c.theta {
		if !(math.Abs(t) < MaxMagnitude && c.w[g] < MaxMagnitude) {
			return false
		}
	}
	return true
}

// query bounds the items that may follow a list with residual r: whole cells by a
// Scorer, single items by bound.
type query struct {
	// linear and square are p r s and (w r s)^2 divided by scale, hence in [0,1]; s is the
	// largest entry of any vector, by which envelopes are divided.
	linear, square []float32
	scale          float64
	// theta r, (w r)^2 and the rounding error of a bound; lost covers underflow.
	theta, squares []float64
	shift, lost    float64
}

func newQueries(n, d int) (q []query, linear, square []float32) {
	linear, square = make([]float32, n*d), make([]float32, n*d)
	q = make([]query, n)
	for i := range q {
		q[i] = query{
			linear: linear[i*d : (i+1)*d], square: square[i*d : (i+1)*d],
			theta: make([]float64, d), squares: make([]float64, d),
		}
	}
	return q, linear, square
}

// set computes the query of a user after a list.
func (q *query) set(c *ceiling, residual []float64, largest float64) {
	q.scale = negligible
	mass := 0.0
	for g, r := range residual {
		w := c.w[g] * r
		q.theta[g], q.squares[g] = c.theta[g]*r, w*w
		q.scale = max(q.scale, c.p[g]*r*largest, w*largest)
		mass += math.Abs(q.theta[g]) + w
	}
	for g, r := range residual {
		w := c.w[g] * r * largest / q.scale
		q.linear[g], q.square[g] = float32(c.p[g]*r*largest/q.scale), float32(w*w)
	}
	q.lost = c.lost * (1 + largest)
	q.shift = float64(len(residual)+8)*rounding*mass*largest + q.lost
}

// bound returns an upper bound of the score of an item with vector x.
func (q *query) bound(x []float64) float64 {
	theta, squares := q.theta[:len(x)], q.squares[:len(x)]
	var sum0, sum1, width0, width1 float64
	g := 0
	for ; g+1 < len(x); g += 2 { // two independent sums each
		a, b := x[g], x[g+1]
		sum0 += a * theta[g]
		sum1 += b * theta[g+1]
		width0 += a * a * squares[g]
		width1 += b * b * squares[g+1]
	}
	if g < len(x) {
		a := x[g]
		sum0 += a * theta[g]
		width0 += a * a * squares[g]
	}
	return sum0 + sum1 + math.Sqrt(width0+width1) + q.shift
}

// slackness returns scale and shift such that figure*scale + shift is an upper bound of
// the scores of a cell with this figure.
func (q *query) slackness() (scale, shift float64) {
	factor, term := slackness(len(q.theta))
	scale = q.scale * factor
	return scale, scale*term + q.lost
}

// slackness returns the factor and the term that turn a Scorer's figure for d coordinates
// into an upper bound of the exact one: they cover the Scorer's error and the earlier
// rounding to float32.
func slackness(d int) (factor, term float64) {
	return 1 + float64(d+16)*0x1p-22, 0x1p-50
}
