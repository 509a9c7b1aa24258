package slate

import (
	"fmt"
	"math"
)

// LogDet is the log-volume that the items of a list span, for each of d topics, weighted
// by the items' relevance to it:
//
//	f_i(S) = ln det(I + sum_{e in S} r_e(i) z_e z_e^T)
//
// where z_e in R^p is an embedding. Similar items add little to each other.
type LogDet struct {
	n, d, p    int
	embeddings []float64
	relevance  []float64
	bound      float64
}

// NewLogDet returns the objective of n items with n*p embeddings and n*d relevances >= 0,
// both row-major. It retains the slices, which must not change. A gain takes O(d p^2).
func NewLogDet(n, d, p int, embeddings, relevance []float64) (*LogDet, error) {
	if err := checkVectors("log-determinant, relevance", n, d, relevance, MaxMagnitude); err != nil {
		return nil, err
	}
	if p > MaxFeatures {
		return nil, fmt.Errorf("slate: log-determinant: embeddings of %d numbers, more than %d", p, MaxFeatures)
	}
	if err := checkSize("log-determinant, embeddings", n, p, len(embeddings)); err != nil {
		return nil, err
	}
	for i, z := range embeddings {
		if !usable(z) {
			return nil, fmt.Errorf("slate: log-determinant: item %d, place %d of the embedding: %v is no number of size up to %g", i/p, i%p, z, MaxMagnitude)
		}
	}
	l := &LogDet{n: n, d: d, p: p, embeddings: embeddings, relevance: relevance}
	l.bound = widest(l)
	return l, nil
}

// Size returns n.
func (o *LogDet) Size() int { return o.n }

// Features returns the number of topics.
func (o *LogDet) Features() int { return o.d }

// Bound returns the largest norm of a gain.
func (o *LogDet) Bound() float64 { return o.bound }

// NewList returns an empty list.
func (o *LogDet) NewList() List {
	l := &logDetList{of: o, factors: make([][]float64, o.d), z: make([]float64, o.p)}
	for i := range l.factors {
		l.factors[i] = make([]float64, o.p*(o.p+1)/2)
	}
	l.Reset()
	return l
}

// scaled sets dst to sqrt(r_e(i)) z_e.
func (o *LogDet) scaled(dst []float64, e, i int) {
	root := math.Sqrt(o.relevance[e*o.d+i])
	for j, z := range o.embeddings[e*o.p : (e+1)*o.p] {
		dst[j] = root * z
	}
}

type logDetList struct {
	of      *LogDet
	factors [][]float64 // by topic, the packed factor of I + sum r z z^T
	z       []float64
}

// Gains uses det(A + z z^T) = det(A) (1 + z^T A^-1 z).
func (l *logDetList) Gains(dst []float64, e int) {
	for i, upper := range l.factors {
		l.of.scaled(l.z, e, i)
		forward(upper, l.z)
		dst[i] = math.Log1p(dot(l.z, l.z))
	}
}

func (l *logDetList) Append(e int) {
	for i, upper := range l.factors {
		l.of.scaled(l.z, e, i)
		rankOne(upper, l.z)
	}
}

func (l *logDetList) Reset() {
	for _, upper := range l.factors {
		identity(upper, l.of.p, 1)
	}
}
