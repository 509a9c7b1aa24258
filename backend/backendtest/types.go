package backendtest

import (
	"context"
	"errors"
	"math"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/vectors"
)

// types searches rows of each type. The oracle reads them one by one.
func types(t *testing.T, open func() backend.Backend, p Part) {
	b := opened(t, open)
	for k, elem := range []dataset.Elem{dataset.ElemFloat16, dataset.ElemBFloat16, dataset.ElemInt8, dataset.ElemUint8, dataset.ElemFloat64} {
		if !p.has(k) || testing.Short() && p.Of <= 1 && k%2 != 0 {
			continue
		}
		t.Run(elem.String(), func(t *testing.T) {
			if elem == dataset.ElemFloat64 {
				keepsFloat64(t, b)
			}
			for i, opt := range kinds(k) {
				if p.otherMetric(k/max(1, p.Of), i) {
					continue
				}
				s, v, given := typedSet(t, elem)
				c, err := collection.BuildVectors(context.Background(), v, &opt)
				if err != nil {
					t.Fatal(err)
				}
				r, o := loadResident(t, b, c), NewOracle(c)
				if given != nil {
					o.give(t, s, given)
				}
				a := newGoalSet(s, o)
				for _, l := range Ladders(c, never) {
					check(t, elem.String()+", "+c.Metric.String()+", "+c.Basis.String()+", "+l.Name, s, o, a, r, &l)
				}
			}
		})
	}
}

// keepsFloat64 skips the test if the backend refuses rows of float64.
func keepsFloat64(t *testing.T, b backend.Backend) {
	v, err := dataset.VectorsOf([]float64{1, 2, 3}, 3)
	if err != nil {
		t.Fatal(err)
	}
	c, err := collection.BuildVectors(context.Background(), v, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Load(context.Background(), c)
	if errors.Is(err, collection.ErrFloat64) {
		t.Skipf("%s: %v", b.Name(), err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// give makes queries that were given in float64 those of the set, rounded as the collection's rows are.
func (o *Oracle) give(t testing.TB, s *Set, given []float64) {
	t.Helper()
	s.Queries, o.given = make([]float32, len(given)), map[*float32][]float64{}
	if _, err := collection.Narrow(s.Queries, given, s.Dim, o.c.Origin); err != nil {
		t.Fatal(err)
	}
	for j := range s.M() {
		o.given[&s.Query(j)[0]] = given[j*s.Dim:][:s.Dim]
	}
}

// wideSet is typedSet of float64: in each third of the rows, 1,000 from zero, are many that differ by less than float32
// tells apart, and some that are equal.
func wideSet(t testing.TB, s *Set) (dataset.Vectors, []float64) {
	t.Helper()
	r := vectors.Rand(64)
	rows := make([]float64, len(s.Rows))
	for i, x := range s.Rows {
		rows[i] = 1000 + 1e-3*float64(x)
	}
	for i := s.N() / 3; i < s.N(); i += 2 { // like another one
		copy(rows[i*s.Dim:], rows[i/2*s.Dim:][:s.Dim])
		if i%3 > 0 {
			rows[i*s.Dim+i%s.Dim] += 1e-11 * r.NormFloat64()
		}
	}
	given := make([]float64, 0, 4*s.Dim)
	for j := range 4 {
		for _, x := range rows[7*j*s.Dim:][:s.Dim] {
			given = append(given, x+float64(j%2)*1e-4*r.NormFloat64())
		}
	}
	v, err := dataset.VectorsOf(rows, s.Dim)
	if err != nil {
		t.Fatal(err)
	}
	return v, given
}

// typedSet returns a set whose rows are small integers and halves, and the rows in a type; of float64, other rows and
// queries as given.
func typedSet(t testing.TB, elem dataset.Elem) (*Set, dataset.Vectors, []float64) {
	t.Helper()
	const n, dim = 500, 160
	r := vectors.Rand(uint64(elem))
	s := &Set{Name: elem.String(), Dim: dim, Rows: vectors.PowerLaw(r, n, dim)}
	if elem == dataset.ElemFloat64 {
		v, given := wideSet(t, s)
		return s, v, given
	}
	step := 1.
	if elem.Size() == 2 {
		step = 1. / 2
	}
	for i, x := range s.Rows {
		y := math.Round(math.Max(-100, math.Min(20*float64(x), 100))/step) * step
		if elem == dataset.ElemUint8 {
			y = math.Abs(y)
		}
		s.Rows[i] = float32(y)
	}
	s.Queries = queries(r, s.Rows, dim)
	data := make([]byte, len(s.Rows)*elem.Size())
	if bad := elem.Encode(data, s.Rows); bad >= 0 {
		t.Fatalf("%v does not hold %v", elem, s.Rows[bad])
	}
	v, err := dataset.NewVectors(elem, dim, data)
	if err != nil {
		t.Fatal(err)
	}
	return s, v, nil
}
