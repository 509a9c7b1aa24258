package verify

import (
	"fmt"

	"thresher/batch"
)

// Bar is the least that certificates must promise, whatever they say. The zero value asks for
// nothing.
type Bar struct {
	// Epsilon and Delta, if not nil, are the greatest gap (score units) and the greatest failure
	// probability that a certificate may grant.
	Epsilon, Delta *float64
	// Require, if not "", is the least guarantee. exact: none of the k best is missing; certain: the
	// same within epsilon; probabilistic: within epsilon, with probability at least 1 - delta. Each
	// is met by those before it. Answers of searches that were stopped meet none.
	Require batch.Guarantee
}

// WithBar returns a check by which an answer is wrong, too, if its certificate grants more than b
// allows. The atoms of its answers are held to the lesser of both gaps.
func (c *Check) WithBar(b Bar) *Check {
	own := *c
	own.bar = b
	return &own
}

// Check returns a *batch.RequestError unless Require is a guarantee that can be required, and Epsilon and Delta
// are in range.
func (b *Bar) Check() error {
	switch b.Require {
	case "", batch.GuaranteeExact, batch.GuaranteeCertain, batch.GuaranteeProbabilistic:
	default:
		return refused("require", "%q is none of exact, certain, probabilistic", b.Require)
	}
	if b.Delta != nil && !(*b.Delta >= 0 && *b.Delta < 1) {
		return refused("delta", "%g is not within [0, 1)", *b.Delta)
	}
	if b.Epsilon != nil && !(*b.Epsilon >= 0) {
		return refused("epsilon", "%g is not a number from 0 on", *b.Epsilon)
	}
	return nil
}

func refused(field, format string, args ...any) error {
	return &batch.RequestError{Field: field, Query: -1, Err: fmt.Errorf(format, args...)}
}

// exceeded says what a certificate grants beyond the bar; "" if nothing.
func (b *Bar) exceeded(c *batch.Certificate) string {
	switch {
	case b.Epsilon != nil && c.Epsilon > *b.Epsilon:
		return fmt.Sprintf("epsilon %g where at most %g is allowed", c.Epsilon, *b.Epsilon)
	case b.Delta != nil && !sure(c) && c.Delta > *b.Delta:
		return fmt.Sprintf("delta %g where at most %g is allowed", c.Delta, *b.Delta)
	case !b.meets(c):
		if partial(c) {
			return fmt.Sprintf("an open bound where %s is required", b.Require)
		}
		return fmt.Sprintf("guarantee %s%s where %s is required", c.Guarantee, granted(c.Epsilon), b.Require)
	}
	return ""
}

// granted words a gap.
func granted(epsilon float64) string {
	if epsilon == 0 {
		return ""
	}
	return fmt.Sprintf(" within epsilon %g", epsilon)
}

// meets reports whether a certificate promises what is required.
func (b *Bar) meets(c *batch.Certificate) bool {
	switch {
	case b.Require == "":
		return true
	case partial(c):
		return false
	case b.Require == batch.GuaranteeExact:
		return sure(c) && c.Epsilon == 0
	case b.Require == batch.GuaranteeCertain:
		return sure(c)
	}
	return sure(c) || c.Guarantee == batch.GuaranteeProbabilistic
}

// epsilon returns the gap, in units of Scores.Search, that an answer with this certificate may have.
func (c *Check) epsilon(cert *batch.Certificate) float64 {
	gap := cert.Epsilon
	if c.bar.Epsilon != nil {
		gap = min(gap, *c.bar.Epsilon)
	}
	return c.oracle.searchUnits(gap)
}
