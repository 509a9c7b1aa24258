package batch

import (
	"fmt"

	"thresher/collection"
)

// Searchable says what of a collection decides by which methods it can be searched.
type Searchable struct {
	Basis  collection.Basis
	Metric collection.Metric
	// Float64 says that the vectors are kept as float64.
	Float64 bool
	// Dim is their dimension, and Coded says whether they have codes, which Unbuilt says that they could have.
	Dim            int
	Coded, Unbuilt bool
	// Prefixes says that the rotated coordinates are kept in float32, and no head is apart from them.
	Prefixes bool
}

// searchableOf describes a collection.
func searchableOf(c *collection.Collection) Searchable {
	return Searchable{
		Basis: c.Basis, Metric: c.Metric, Float64: c.Float64(), Dim: c.Dim, Coded: c.Coded(), Unbuilt: c.Unbuilt(),
		Prefixes: c.Rotated32 != nil && c.R == 0,
	}
}

// Methods lists the methods that can search the collection of the engine.
func (e *Engine) Methods() []Method { return searchableOf(e.c).Methods() }

// Methods lists the methods that such a collection can be searched by, of which some refuse options of a Request.
func (s Searchable) Methods() []Method {
	var can []Method
	for _, m := range Methods() {
		if s.refuses(m) == nil {
			can = append(can, m)
		}
	}
	return can
}

// refuses says why no such collection can be searched by a method, nil if one can.
func (s Searchable) refuses(m Method) error {
	switch {
	case m == Adaptive && s.Basis == collection.Raw:
		return fmt.Errorf("adaptive needs rotated codes; the basis is raw")
	case m == Adaptive && s.Unbuilt:
		return fmt.Errorf("adaptive needs codes, and the collection was made without; use certain or exact")
	case m == Adaptive && !s.Coded:
		return fmt.Errorf("adaptive needs at least %d dimensions, there are %d; use certain or exact", collection.MinRotated, s.Dim)
	case planned(m):
		return nil
	case m == PrefixF32 && !s.Prefixes:
		return fmt.Errorf("prefix-f32 needs a collection built without head that keeps its rotated coordinates (collection.Options NoHead, KeepRotated)")
	case m == PrefixF32:
		return nil
	case s.Basis != collection.Raw:
		return fmt.Errorf("%s promises to preprocess nothing: build with basis raw", m)
	case m == Strict:
		return nil
	case s.Float64:
		return fmt.Errorf("%s: %w", m, collection.ErrFloat64)
	case s.Metric.Differences() && (m == BanditMIPSAlpha || m == BanditMIPSBeta || m == BucketAE):
		return fmt.Errorf("%s is defined for inner products, the metric is %v", m, s.Metric)
	}
	return nil
}
