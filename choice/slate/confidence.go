package slate

import (
	"fmt"
	"math"
)

// Rule determines the width of confidence intervals.
type Rule string

const (
	// Determinant is R sqrt(ln det(M/lambda) + 2 ln(1/delta)) + sqrt(lambda) B
	// (Abbasi-Yadkori, Pal, Szepesvari, NIPS 2011, Theorem 2): all intervals hold at all
	// times with probability 1-delta.
	Determinant Rule = "determinant"
	// Information is B + R sqrt(ln det(M/lambda) + 2 + 2 ln(1/delta)) for kernel deviations
	// (Chowdhury and Gopalan, ICML 2017, Theorem 2). Those are sqrt(lambda) times ours, and
	// beta is scaled to match. For lambda >= 1 it is at least Determinant's and as safe;
	// below 1 there is no guarantee.
	Information Rule = "information"
	// Tuned is Base + Scale sqrt(d ln(1+N) + ln(1/delta)) after N observations, with
	// constants chosen by hand (UAI 2020, section 14). No guarantee.
	Tuned Rule = "tuned"
	// Fixed is Base. No guarantee.
	Fixed Rule = "fixed"
)

// Confidence is a Rule with its parameters. Zero fields stand for the defaults.
type Confidence struct {
	Rule Rule `json:"rule,omitempty"` // Determinant
	// Delta is the probability that any interval ever fails, in (0,1). Default: 0.1.
	Delta float64 `json:"delta,omitempty"`
	// Noise is R: rewards are R-sub-Gaussian around their means. Default: 0.5, which holds
	// for all rewards in [0,1].
	Noise float64 `json:"noise,omitempty"`
	// Norm is B, a bound on the norm of the weights. Default: 1.
	Norm float64 `json:"norm,omitempty"`
	// Base and Scale are those of Tuned, where both 0 stand for 0.1 and 0.05, and of Fixed,
	// where 0 is 0.
	Base  float64 `json:"base,omitempty"`
	Scale float64 `json:"scale,omitempty"`
}

// filled fills in the defaults and validates the parameters.
func (c Confidence) filled() (Confidence, error) {
	if c.Rule == "" {
		c.Rule = Determinant
	}
	if c.Delta == 0 {
		c.Delta = 0.1
	}
	if c.Noise == 0 {
		c.Noise = 0.5
	}
	if c.Norm == 0 {
		c.Norm = 1
	}
	if c.Rule == Tuned && c.Base == 0 && c.Scale == 0 {
		c.Base, c.Scale = 0.1, 0.05
	}
	switch c.Rule {
	case Determinant, Information, Tuned, Fixed:
	default:
		return c, fmt.Errorf("slate: confidence: unknown rule %q", c.Rule)
	}
	if !(c.Delta > 0 && c.Delta < 1) {
		return c, fmt.Errorf("slate: confidence: delta %v is not in (0, 1)", c.Delta)
	}
	for _, f := range []struct {
		name string
		x    float64
	}{{"noise", c.Noise}, {"norm", c.Norm}, {"base", c.Base}, {"scale", c.Scale}} {
		if !(f.x >= 0 && f.x <= MaxMagnitude) {
			return c, fmt.Errorf("slate: confidence: %s %v is not in [0, %g]", f.name, f.x, MaxMagnitude)
		}
	}
	return c, nil
}

// guaranteed reports whether the intervals of a user are proven to hold.
func (c Confidence) guaranteed(lambda float64) bool {
	return c.Rule == "" || c.Rule == Determinant || c.Rule == Information && lambda >= 1
}

// Beta returns the half-width of an interval in Deviations.
func (e *Estimator) Beta(c Confidence) (float64, error) {
	c, err := c.filled()
	if err != nil {
		return 0, err
	}
	tail := -math.Log(c.Delta)
	switch c.Rule {
	case Information:
		return math.Sqrt(e.lambda) * (c.Norm + c.Noise*math.Sqrt(e.gain+2+2*tail)), nil
	case Tuned:
		return c.Base + c.Scale*math.Sqrt(float64(e.d)*math.Log1p(float64(e.observations))+tail), nil
	case Fixed:
		return c.Base, nil
	default:
		return c.Noise*math.Sqrt(e.gain+2*tail) + math.Sqrt(e.lambda)*c.Norm, nil
	}
}
