package folder

import (
	"fmt"
	"math"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
)

// Form is what all vectors of a folder have in common.
type Form struct {
	Metric collection.Metric
	Dim    int    // 1 to collection.MaxDim
	Seed   uint64 // of the rotation of segments
	// Elem is the type in which vectors are kept: all that are written have values of it.
	Elem dataset.Elem
	// Columns are those of all vectors, of different names; any value may be null. nil: none. They must not be changed.
	Columns []columns.Field
	// Basis is that in which segments are coded; the zero value is collection.Rotated.
	Basis collection.Basis
	// Origin, [Dim], is what all rows are relative to, of a metric of differences: those that are written, too. nil is zero. Rows of
	// dataset.ElemFloat64 are as they were given, and near it. It must not be changed.
	Origin []float64
}

// check refuses what no folder has.
func (f *Form) check() error {
	if err := f.Metric.Check(); err != nil {
		return err
	}
	if f.Dim < 1 || f.Dim > collection.MaxDim {
		return fmt.Errorf("%d dimensions, at least 1 and at most %d", f.Dim, collection.MaxDim)
	}
	if f.Origin != nil && (len(f.Origin) != f.Dim || !f.Metric.Differences()) {
		return fmt.Errorf("an origin of %d columns: only rows of as many, for Euclidean distance, have one", len(f.Origin))
	}
	if f.Origin != nil && f.Elem != dataset.ElemFloat32 && f.Elem.Narrow() {
		return fmt.Errorf("an origin of vectors of %v: less it they are %v", f.Elem, dataset.ElemFloat32)
	}
	for i, x := range f.Origin {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("column %d of the origin is %v", i, x)
		}
	}
	return columns.CheckFields(f.Columns)
}

// contents returns the manifest of an empty folder of a form.
func (f *Form) contents() *contents {
	m := &contents{Metric: f.Metric.String(), Elem: f.Elem.String(), Dim: f.Dim, Seed: f.Seed, Log: 1, Next: 2, Origin: f.Origin, Columns: f.Columns}
	if f.Basis != collection.Rotated {
		m.Basis = f.Basis.String()
	}
	return m
}

// form returns the form that a manifest says.
func (m *contents) form() (f Form, err error) {
	f = Form{Dim: m.Dim, Seed: m.Seed, Origin: m.Origin, Columns: m.Columns}
	if f.Elem, err = dataset.ParseElem(m.Elem); err != nil {
		return f, err
	}
	if f.Metric, err = collection.StoredMetric(m.Metric); err != nil {
		return f, err
	}
	if f.Basis, err = collection.ParseBasis(m.Basis); err != nil {
		return f, fmt.Errorf("its basis: %w", err)
	}
	return f, f.check()
}
