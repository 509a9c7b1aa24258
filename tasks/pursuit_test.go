package tasks

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// pursuedAtoms returns three atoms in a space of three, and what searches them.
func pursuedAtoms(t *testing.T, metric collection.Metric, rows ...float32) (*collection.Collection, Searcher) {
	t.Helper()
	if rows == nil {
		rows = []float32{2, 0, 0, 0, 4, 0, 0, 0, .5}
	}
	e := engineOf(t, rows, 3, metric)
	return e.Collection(), e
}

// TestPursuitAll: signals that are pursued some at a time, or by two runs of which the second resumes, have the terms of those
// pursued together, and so are their summaries; more terms than atoms are no error.
func TestPursuitAll(t *testing.T) {
	c, e := pursuedAtoms(t, collection.Cosine)
	var signals []float32
	for i := range 1500 { // more than are pursued together
		signals = append(signals, float32(i%7), float32(i%5)-2, float32(i%3))
	}
	pursue := func() *Pursuit {
		p, err := NewPursuit(c, e, PursuitOptions{Terms: 20})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	all := func(p *Pursuit, signals []float32) (terms []dataset.Term) {
		err := p.All(t.Context(), signals, func(some []dataset.Term) error { terms = append(terms, some...); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return terms
	}
	p, q := pursue(), pursue()
	want := all(p, signals)
	first := all(q, signals[:3*100])
	r := pursue()
	r.Resume(q.Counts())
	if d := cmp.Diff(want, append(first, all(r, signals[3*100:])...)); d != "" {
		t.Errorf("resumed (-whole +parts):\n%s", d)
	}
	whole, parts := p.Summary(), r.Summary()
	whole.SearchSeconds, parts.SearchSeconds = 0, 0
	if math.Abs(whole.Residual-parts.Residual) < 1e-12 {
		parts.Residual = whole.Residual
	}
	if d := cmp.Diff(whole, parts); d != "" || whole.Signals != 1500 || whole.Terms != int64(len(want)) {
		t.Errorf("summaries (-whole +parts):\n%s", d)
	}
	rest := make([]float64, len(signals))
	for i, x := range signals {
		rest[i] = float64(x)
	}
	for _, m := range want {
		for j := range 3 {
			rest[3*int(m.Signal)+j] -= m.Coefficient * float64(c.Row(int(m.Row))[j])
		}
	}
	for i, x := range rest {
		if math.Abs(x) > 1e-12 {
			t.Fatalf("coordinate %d of what is left is %g", i, x)
		}
	}
}

// TestPursuitRefuses: hostile options, atoms and signals are errors that name the field and the signal.
func TestPursuitRefuses(t *testing.T) {
	c, e := pursuedAtoms(t, collection.Cosine)
	ip, _ := pursuedAtoms(t, collection.InnerProduct)
	zero, _ := pursuedAtoms(t, collection.Cosine, 1, 0, 0, 0, 0, 0)
	field := func(err error) string {
		var wrong *batch.RequestError
		if !errors.As(err, &wrong) {
			return ""
		}
		return wrong.Field
	}
	for _, x := range []struct {
		atoms *collection.Collection
		o     PursuitOptions
		field string
	}{
		{c, PursuitOptions{}, "terms"},
		{c, PursuitOptions{Terms: -1}, "terms"},
		{c, PursuitOptions{Terms: MaxTerms + 1}, "terms"},
		{c, PursuitOptions{Terms: 1, Delta: 1}, "delta"},
		{c, PursuitOptions{Terms: 1, Delta: math.NaN()}, "delta"},
		{c, PursuitOptions{Terms: 1, Method: "best"}, "method"},
		{c, PursuitOptions{Terms: 1, Published: batch.Published{Warm: 1}}, "published.warm"},
		{ip, PursuitOptions{Terms: 1}, "vectors"},
		{zero, PursuitOptions{Terms: 1}, "vectors"},
	} {
		if _, err := NewPursuit(x.atoms, e, x.o); field(err) != x.field {
			t.Errorf("%+v: %v", x.o, err)
		}
	}
	p, err := NewPursuit(c, e, PursuitOptions{Terms: 1})
	if err != nil {
		t.Fatal(err)
	}
	bad := make([]float32, 3*1100)
	bad[3*1050+1] = float32(math.NaN())
	err = p.All(t.Context(), bad, func([]dataset.Term) error { return nil })
	var wrong *batch.RequestError
	if !errors.As(err, &wrong) || wrong.Field != "signals" || wrong.Query != 1050 {
		t.Errorf("NaN in signal 1050: %v", err)
	}
	if _, err := p.Signals(t.Context(), []float32{1, 2, float32(math.Inf(-1))}); field(err) != "signals" {
		t.Errorf("infinite: %v", err)
	}
	if _, err := p.Signals(t.Context(), []float32{1, 2}); field(err) != "signals" {
		t.Errorf("no whole row: %v", err)
	}
	if terms, err := p.Signals(t.Context(), make([]float32, 3)); err != nil || len(terms) != 0 {
		t.Errorf("zeros: %v, %v", terms, err)
	}
}

// TestPursuitStops: a search that its deadline ends is no answer, and a cancelled pursuit has the cause.
func TestPursuitStops(t *testing.T) {
	c, e := pursuedAtoms(t, collection.Cosine)
	late, err := NewPursuit(c, searched{stoppedAt(batch.Deadline), context.DeadlineExceeded}, PursuitOptions{Terms: 1, Nonnegative: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Signals(t.Context(), []float32{1, 2, 3}); !errors.Is(err, ErrUnfinished) {
		t.Errorf("past the deadline: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	p, err := NewPursuit(c, e, PursuitOptions{Terms: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Signals(ctx, []float32{1, 2, 3}); !errors.Is(err, gone) {
		t.Errorf("cancelled: %v", err)
	}
}
