package tasks

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/vectors"
	"thresher/join"
)

// engineOf is an engine over rows, which is closed when its test ends.
func engineOf(t *testing.T, rows []float32, dim int, m collection.Metric) *batch.Engine {
	t.Helper()
	c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: m})
	if err != nil {
		t.Fatal(err)
	}
	b := cpu.New(cpu.Options{Threads: 1})
	e, err := batch.Open(t.Context(), c, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(), b.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestGraphResumes: a graph found in blocks, of which the first are those of another run, is the one that is
// found at once, and its summary counts the same edges.
func TestGraphResumes(t *testing.T) {
	const n, dim, k = 120, 6, 4
	e := engineOf(t, vectors.Gaussian(vectors.Rand(1), n, dim), dim, collection.Euclidean)
	for _, o := range []GraphOptions{{}, {Symmetric: true}, {Mutual: true, Distances: true}} {
		o.GraphOptions = join.GraphOptions{K: k, Method: batch.Certain}
		search := func() *GraphSearch {
			g, err := NewGraphSearch(e, o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { g.Close() })
			return g
		}
		var whole []dataset.Result
		want, err := Graph(t.Context(), search(), nil, func(r *dataset.Result) error {
			whole = append(whole, dataset.Result{Query: r.Query, Scores: slices.Clone(r.Scores)})
			return nil
		})
		if err != nil || want.Rows != n || want.Certificate.Rows != n || want.Certificate.Guarantees[batch.GuaranteeCertain]+want.Certificate.Guarantees[batch.GuaranteeExact] != n {
			t.Fatal(want, err)
		}
		if o.Distances {
			plain := o
			plain.Distances = false
			g, err := NewGraphSearch(e, plain)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Graph(t.Context(), g, nil, func(r *dataset.Result) error {
				for at, s := range r.Scores {
					if got := whole[r.Query].Scores[at]; got != float32(math.Sqrt(float64(s))) {
						t.Errorf("row %d: distance %g of squared %g", r.Query, got, s)
					}
				}
				return nil
			})
			if err = errors.Join(err, g.Close()); err != nil || want.Value != "distance" {
				t.Fatal(want, err)
			}
		}
		var kept []dataset.Result // the log
		log := func(do func(i int64, r *dataset.Result) error) error {
			for i := range kept {
				r := kept[i]
				r.Scores = slices.Clone(r.Scores)
				if err := do(int64(i), &r); err != nil {
					return err
				}
			}
			return nil
		}
		g := search()
		for first := int64(0); first < n; first += 40 {
			if first == 80 {
				if g = search(); g.Resume(log) != nil {
					t.Fatal("resume")
				}
			}
			b, err := g.Search(t.Context(), first, 40)
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, b.Results...)
		}
		rows, err := g.Rows(log)
		if err != nil {
			t.Fatal(err)
		}
		edges := int64(0)
		err = rows(func(i int64, r *dataset.Result) error {
			edges += int64(len(r.Scores))
			if !slices.Equal(r.Scores, whole[i].Scores) {
				t.Errorf("row %d: %v, want %v", i, r.Scores, whole[i].Scores)
			}
			return nil
		})
		got := g.Summary()
		if err != nil || edges != want.Edges || len(whole) != n {
			t.Error(edges, want.Edges, len(whole), err)
		}
		if diff := cmp.Diff(want.GraphShape, got.GraphShape); diff != "" {
			t.Error(diff)
		}
		if got.Certificate.Rows != 0 {
			t.Errorf("a resumed run says %+v of rows that it did not search", got.Certificate)
		}
	}
}

// TestGraphDistances: l2 is not squared, and a cosine that rounding takes above 1 is no negative distance.
func TestGraphDistances(t *testing.T) {
	for _, x := range []struct {
		m           collection.Metric
		score, want float32
	}{{collection.Euclidean, 9, 3}, {collection.Cosine, .25, .75}, {collection.Cosine, 1 + 0x1p-23, 0}} {
		g := &GraphSearch{atoms: &collection.Collection{Metric: x.m}}
		if got := g.distance(x.score); got != x.want {
			t.Errorf("%s %g: distance %g, want %g", x.m, x.score, got, x.want)
		}
	}
}

// TestGraphOptions: what cannot be is named by its field.
func TestGraphOptions(t *testing.T) {
	for _, x := range []struct {
		o     GraphOptions
		n     int
		m     collection.Metric
		field string
	}{
		{GraphOptions{Symmetric: true, Mutual: true}, 9, collection.Cosine, "mutual"},
		{GraphOptions{}, 1, collection.Cosine, "vectors"},
		{GraphOptions{Distances: true}, 9, collection.InnerProduct, "distances"},
		{GraphOptions{Distances: true, Mutual: true}, 9, collection.Cosine, ""},
	} {
		err := x.o.Check(x.n, x.m)
		var e *batch.RequestError
		if errors.As(err, &e) != (x.field != "") || e != nil && e.Field != x.field {
			t.Errorf("%+v: %v, want an error of field %q", x.o, err, x.field)
		}
	}
}

// TestPairsSummary: the summary of pairs found in blocks, of which the first are those of another run, is that of
// pairs found at once, and has the shape of the pairs.
func TestPairsSummary(t *testing.T) {
	const n, dim = 90, 3
	rows := vectors.Gaussian(vectors.Rand(2), n, dim)
	copy(rows[dim:2*dim], rows[:dim])
	e := engineOf(t, rows, dim, collection.Euclidean)
	for _, with := range []int64{0, 50} {
		search := func() *PairSearch {
			o := PairOptions{PairOptions: join.PairOptions{MinScore: .1, Method: batch.Exact, Delta: .5, Rows: 20, Stored: true}}
			if with > 0 {
				o.With = dataset.FromMemory(rows[:int(with)*dim], dim, nil)
			}
			s, err := NewPairSearch(t.Context(), e, o)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		shape, err := NewPairShape(n, with, true)
		if err != nil {
			t.Fatal(err)
		}
		count := int64(0)
		want, err := Pairs(t.Context(), search(), nil, func(pairs []dataset.Pair) error {
			for i := range pairs {
				shape.Add(&pairs[i])
			}
			count += int64(len(pairs))
			return nil
		})
		if err != nil || want.Pairs != count || count == 0 || want.Promise != "exact: no pair is missing" || want.Delta != .5 || want.PairsPerRow != nil {
			t.Fatal(want, count, err)
		}
		first, rest := search(), search()
		for s := first; ; {
			b, _, err := s.Next(t.Context())
			if err == io.EOF {
				break
			}
			if err == nil {
				err = s.Add(&b, 0)
			}
			if err != nil {
				t.Fatal(err)
			}
			if s == first && s.Counts().Work.Rows >= 40 {
				if err := rest.Skip(t.Context(), s.Counts().Work.Rows); err != nil {
					t.Fatal(err)
				}
				rest.Resume(s.Counts())
				s = rest
			}
		}
		got := rest.Summary(nil)
		got.Expected, want.Expected = 0, 0 // by the first rows that a run compares
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("resumed: %s", diff)
		}
		got = rest.Summary(shape)
		sum, members, others := 0., int64(0), int64(0)
		var components []int64 // of the vectors
		if err := shape.Members(t.Context(), nil, nil)(func(m *dataset.Member) error {
			if m.Keep {
				members++
			}
			if m.Side == "b" {
				others++
				if m.Component != components[m.Row] {
					t.Errorf("row %d of the other table is in component %d, the equal vector in %d", m.Row, m.Component, components[m.Row])
				}
			} else {
				components = append(components, m.Component)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		sum += got.PairsPerRow.Mean * n
		if with > 0 {
			sum += got.PairsPerRowWith.Mean * float64(with)
		}
		if math.Abs(sum-2*float64(count)) > 1e-6 || others != with || got.Components.Count != members || got.Components.Surplus != n+with-members {
			t.Errorf("%g ends of %d pairs, %d components kept of %+v", sum, count, members, got.Components)
		}
	}
}

// TestPairLimit: a limit ends a search with what was found, and an error of visit does.
func TestPairLimit(t *testing.T) {
	e := engineOf(t, make([]float32, 40), 1, collection.InnerProduct)
	s, err := NewPairSearch(t.Context(), e, PairOptions{PairOptions: join.PairOptions{Rows: 10}, MaxPairs: 100})
	if err != nil {
		t.Fatal(err)
	}
	if f := s.Forecast(); !f.TooMany || f.Pairs != 40*39/2 || f.About != "about 7.8e+02" {
		t.Errorf("%+v", f)
	}
	_, err = Pairs(t.Context(), s, nil, func([]dataset.Pair) error { return nil })
	var limit *PairLimitError
	if !errors.As(err, &limit) || limit.Limit != 100 || limit.Pairs <= 100 || limit.Rows >= 40 || limit.Total != 40 || !strings.Contains(limit.Among(), "of 40 rows") {
		t.Errorf("%v", err)
	}
	if s, err = NewPairSearch(t.Context(), e, PairOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Pairs(t.Context(), s, nil, func([]dataset.Pair) error { return context.Canceled }); err != context.Canceled {
		t.Error(err)
	}
	if _, err := NewPairSearch(t.Context(), e, PairOptions{PairOptions: join.PairOptions{MinScore: math.NaN()}}); err == nil {
		t.Error("a limit that is no number")
	}
}
