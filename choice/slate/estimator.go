package slate

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// The range of lambda.
const (
	minLambda = 1e-9
	maxLambda = 1e9
)

// MaxFeatures bounds d: a state has d*(d+1)/2 numbers.
const MaxFeatures = 1 << 14

// Estimator holds what is known of one user's weights w: the ridge regression of rewards
// on gains (UAI 2020, section 5.1),
//
//	M = lambda I + sum x x^T,  b = sum y x,  theta = M^-1 b
//
// with M as its Cholesky factor. Before the first observation it is cold and holds no
// matrix: such a user costs a few dozen bytes, others Bytes. Concurrent reads are safe;
// Update and UnmarshalBinary need exclusive access.
type Estimator struct {
	d            int
	lambda       float64
	observations int64
	// upper holds the rows of L^T from the diagonal on, d*(d+1)/2 numbers, where L L^T = M;
	// nil while M = lambda I.
	upper []float64
	b     []float64
	theta []float64
	gain  float64 // ln det(M/lambda)
}

// NewEstimator returns the estimator of a user without observations: d features,
// regularisation lambda in [1e-9, 1e9]. The regret bound needs lambda >= m A^2; 1 is
// common.
func NewEstimator(d int, lambda float64) (*Estimator, error) {
	if d < 1 || d > MaxFeatures {
		return nil, fmt.Errorf("slate: estimator: %d features, not in [1, %d]", d, MaxFeatures)
	}
	if !(lambda >= minLambda && lambda <= maxLambda) {
		return nil, fmt.Errorf("slate: estimator: lambda %v is not in [%g, %g]", lambda, minLambda, maxLambda)
	}
	return &Estimator{d: d, lambda: lambda}, nil
}

// Features returns d.
func (e *Estimator) Features() int { return e.d }

// Lambda returns the regularisation.
func (e *Estimator) Lambda() float64 { return e.lambda }

// Observations returns the number of rewards taken.
func (e *Estimator) Observations() int64 { return e.observations }

// Cold reports that no reward was taken yet.
func (e *Estimator) Cold() bool { return e.upper == nil }

// Bytes returns the memory of the matrix and vectors: 8 (d(d+1)/2 + 2d), 0 when cold.
func (e *Estimator) Bytes() int { return 8 * (len(e.upper) + len(e.b) + len(e.theta)) }

// Clone returns a deep copy.
func (e *Estimator) Clone() *Estimator {
	c := *e
	c.upper, c.b, c.theta = slices.Clone(e.upper), slices.Clone(e.b), slices.Clone(e.theta)
	return &c
}

// maxObservations keeps counts exact in float64 and far from overflow.
const maxObservations = 1 << 53

// Update takes m rewards y and their gains x(e_i|e_1..e_{i-1}), m*d numbers row-major.
// All rewards of one list belong in one call, since M changes at the end of a round. On
// an error the Estimator is unchanged. O(m d^2).
func (e *Estimator) Update(x, y []float64) error {
	if len(x) != len(y)*e.d {
		return fmt.Errorf("slate: estimator: %d numbers for %d rewards of %d features", len(x), len(y), e.d)
	}
	for i, v := range y {
		if !usable(v) {
			return fmt.Errorf("slate: estimator: place %d: reward %v is no number of size up to %g", i, v, MaxMagnitude)
		}
	}
	for i, v := range x {
		if !usable(v) {
			return fmt.Errorf("slate: estimator: place %d, feature %d: %v is no number of size up to %g", i/e.d, i%e.d, v, MaxMagnitude)
		}
	}
	if len(y) == 0 {
		return nil
	}
	if int64(len(y)) > maxObservations-e.observations {
		return fmt.Errorf("slate: estimator: %d rewards after %d, more than %d in all", len(y), e.observations, int64(maxObservations))
	}
	if e.Cold() {
		e.warm()
	}
	row := make([]float64, e.d)
	for i, v := range y {
		copy(row, x[i*e.d:])
		for g, z := range row {
			e.b[g] += v * z
		}
		rankOne(e.upper, row)
	}
	e.observations += int64(len(y))
	e.solve()
	return nil
}

// Observe takes the rewards of the first len(rewards) items of a list that was shown;
// positions that the user did not examine are omitted.
func (e *Estimator) Observe(it *Items, list []int, rewards []float64) error {
	if it == nil {
		return errors.New("slate: estimator: no items")
	}
	if d := it.objective.Features(); d != e.d {
		return fmt.Errorf("slate: estimator of %d features, items of %d", e.d, d)
	}
	if len(rewards) > len(list) {
		return fmt.Errorf("slate: %d rewards for a list of %d items", len(rewards), len(list))
	}
	x, err := it.Features(list[:len(rewards)])
	if err != nil {
		return err
	}
	return e.Update(x, rewards)
}

// warm allocates M = lambda I and b = 0.
func (e *Estimator) warm() {
	d := e.d
	e.upper = make([]float64, d*(d+1)/2)
	identity(e.upper, d, math.Sqrt(e.lambda))
	e.b, e.theta = make([]float64, d), make([]float64, d)
}

// solve computes theta and gain from the factor and b. The gain is clamped at 0: rounding
// can make its difference of logarithms negative.
func (e *Estimator) solve() {
	copy(e.theta, e.b)
	forward(e.upper, e.theta)
	backward(e.upper, e.theta)
	e.gain = max(0, logDet(e.upper, e.d)-float64(e.d)*math.Log(e.lambda))
}

// Weights writes theta, the estimate of w, to dst, d numbers.
func (e *Estimator) Weights(dst []float64) {
	if e.Cold() {
		clear(dst[:e.d])
		return
	}
	copy(dst[:e.d], e.theta)
}

// Mean returns theta . x, the estimated value of a gain x of d numbers.
func (e *Estimator) Mean(x []float64) float64 {
	if e.Cold() {
		return 0
	}
	return dot(e.theta, x)
}

// Deviation returns sqrt(x^T M^-1 x) for a gain x of d numbers, the paper's sigma.
// scratch has d numbers; it may be x, which is then overwritten.
func (e *Estimator) Deviation(x, scratch []float64) float64 {
	if e.Cold() {
		return math.Sqrt(dot(x, x) / e.lambda)
	}
	z := scratch[:e.d]
	copy(z, x)
	forward(e.upper, z)
	return math.Sqrt(dot(z, z))
}

// LogDet returns ln det(M/lambda), twice the information gained.
func (e *Estimator) LogDet() float64 { return e.gain }
