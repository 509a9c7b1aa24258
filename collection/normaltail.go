package collection

import "math"

const (
	tailSigmas = 5   // beyond these the normal law's tails, 3e-7, are ignored
	tailSteps  = 128 // entries of a normalTail for a standard error
)

// normalTail holds the probabilities that a normal error is at least x standard errors, for x from -tailSigmas to tailSigmas.
// Between its entries it is linear, and so falls everywhere. As the second derivative of the
// probability is at most .242, it is off by at most .242/(8 tailSteps^2), 2e-6, and, as it is at most 26 times the
// probability where that is less than 1/2, by 2e-4 of it. It serves forecasts, never bounds.
type normalTail [2*tailSigmas*tailSteps + 1]float64

func newNormalTail() *normalTail {
	t := &normalTail{}
	for i := range t {
		t[i] = .5 * math.Erfc((float64(i)/tailSteps-tailSigmas)/math.Sqrt2)
	}
	return t
}

// at returns the probability of an error of at least x standard errors: 1 up to -tailSigmas, 0 from tailSigmas on.
func (t *normalTail) at(x float64) float64 {
	switch {
	case !(x > -tailSigmas):
		return 1
	case x >= tailSigmas:
		return 0
	}
	x = (x + tailSigmas) * tailSteps
	i := int(x)
	return t[i] + (x-float64(i))*(t[i+1]-t[i])
}
