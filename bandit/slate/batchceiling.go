package slate

import "math"

// rounding is twice the distance of 1 to the next number: it covers the rounding
// of one operation with room to spare.
const rounding = 0x1p-51

// unclear is the relative error of a deviation from which on bounds are not
// worth having.
const unclear = 0x1p-8

// negligible is what no bound goes below, so that quotients do not underflow.
const negligible = 0x1p-600

// ceiling bounds the UCB scores of one user by what is monotone in every
// coordinate of a gain x >= 0:
//
//	theta.x + beta sqrt(x^T M^-1 x)  <=  p.x + sqrt(sum_g w_g^2 x_g^2)
//
// with p_g = max(theta_g, 0) and w_g^2 = beta^2 sum_h max((M^-1)_gh, 0), since
// x_g x_h a <= (x_g^2 + x_h^2) a/2 for a >= 0. Gains shrink as a list grows, so
// the right-hand side bounds the score of an item after every longer list as
// well, what the score itself does not do. For features >= 0 most entries of
// M^-1 off its diagonal are negative, which makes this far closer than
// beta ||x|| times the root of the largest eigenvalue, and as cheap: two products.
//
// p and w are widened by the rounding of the scores as they are computed, so that
// the bound holds for the figures that decide.
type ceiling struct {
	linear, root []float64 // p and w, in units of the scale of the rows
}

// set makes the bound of a user for rows that were divided by scale. columns is
// scratch for d*d numbers. It returns false if M is too near to singular, or its
// figures too large, for bounds that are worth having.
func (c *ceiling) set(e *Estimator, beta, scale float64, columns []float64) bool {
	d := e.d
	clear(c.linear)
	if e.Cold() {
		for g := range c.root {
			c.root[g] = beta / math.Sqrt(e.lambda) * scale * (1 + float64(d+8)*rounding)
		}
		return c.usable()
	}
	norms := c.root // for now, of the columns of L^-1
	var size, inverse float64
	for _, x := range e.upper {
		size += x * x
	}
	clear(columns)
	for g := range norms {
		z := columns[g*d : (g+1)*d]
		z[g] = 1
		forward(e.upper, z)
		s := dot(z, z)
		inverse += s
		norms[g] = math.Sqrt(s)
	}
	// Substitution solves (L+E) z = x for some |E| <= d u |L| (Higham, Accuracy and
	// Stability of Numerical Algorithms, Theorem 8.5), so that z is off by at most
	// that times ||L|| ||L^-1||, in the scores and in the columns here.
	loss := 4 * float64(d+8) * rounding * math.Sqrt(size*inverse)
	if !(loss < unclear) {
		return false
	}
	sums := c.linear
	for g := range d {
		for h := range g + 1 {
			a := dot(columns[g*d:(g+1)*d], columns[h*d:(h+1)*d]) + loss*norms[g]*norms[h]
			if a <= 0 {
				continue
			}
			sums[g] += a
			if h != g {
				sums[h] += a
			}
		}
	}
	for g, s := range sums {
		c.root[g] = beta * math.Sqrt(s) * scale * (1 + loss)
	}
	for g, w := range e.theta {
		c.linear[g] = (max(w, 0) + float64(d+8)*rounding*math.Abs(w)) * scale
	}
	return c.usable()
}

// usable says that all figures are numbers which may be divided.
func (c *ceiling) usable() bool {
	for g, p := range c.linear {
		if !(p < maxMagnitude && c.root[g] < maxMagnitude) {
			return false
		}
	}
	return true
}

// query writes the factors of the rows after a list of this residual, divided by
// the largest of them so that they are in [0,1], and returns that.
func (c *ceiling) query(linear, square []float32, residual []float64) float64 {
	top := negligible
	for g, r := range residual {
		top = max(top, c.linear[g]*r, c.root[g]*r)
	}
	for g, r := range residual {
		w := c.root[g] * r / top
		linear[g], square[g] = float32(c.linear[g]*r/top), float32(w*w)
	}
	return top
}

// slackness are the factor and the term that make a figure of a Scorer with d
// coordinates no less than the exact one: the error that the Scorer may have,
// and that of what was rounded to float32 before.
func slackness(d int) (factor, term float64) {
	return 1 + float64(d+16)*0x1p-22, 0x1p-50
}
