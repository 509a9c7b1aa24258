package tasks

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
)

// TestPromises words what sets of answers promise; progress of earlier runs is read, too.
func TestPromises(t *testing.T) {
	certificate := func(g batch.Guarantee, law batch.Law, delta float64, stop batch.Stop) batch.Certificate {
		return batch.Certificate{Guarantee: g, Law: law, Delta: delta, StoppedBy: stop}
	}
	exact := certificate(batch.GuaranteeExact, "", 0, batch.Done)
	certain := certificate(batch.GuaranteeCertain, "", 0, batch.Done)
	haar := certificate(batch.GuaranteeProbabilistic, batch.LawHaar, .25, batch.Done)
	nameless := certificate(batch.GuaranteeProbabilistic, "", .125, "")
	heuristic := certificate(batch.GuaranteeHeuristic, "", 0, batch.Done)
	stopped := certificate(batch.GuaranteeExact, "", 0, batch.Deadline)
	merged := certificate(batch.GuaranteeHeuristic, "", 0, batch.Deadline)
	rounded := batch.Certificate{Guarantee: batch.GuaranteeExact, StoppedBy: batch.Done, VectorsChange: .0625, QueryChange: .125}
	bound := certificate(batch.GuaranteeBound, "", 0, batch.Deadline)
	risk := certificate(batch.GuaranteeBound, batch.LawHaar, .125, batch.Cancelled)
	const open = "stopped early, no vector left out scores above the open bound"
	for _, c := range []struct {
		former string
		added  []batch.Certificate
		of     Subject
		want   string
	}{
		{"{}", nil, Answers, ""},
		{"{}", []batch.Certificate{exact, exact}, Answers, "exact: none wrong"},
		{"{}", []batch.Certificate{exact, certain, certain}, Answers, "certain (2 of 3): none wrong; exact (1 of 3): none wrong"},
		{"{}", []batch.Certificate{haar, haar}, Answers, "probabilistic (haar): each wrong with probability at most 0.25, so up to 0.5 of 2 on average"},
		{"{}", []batch.Certificate{haar, nameless, exact}, Answers, "probabilistic (haar) (2 of 3): each wrong with probability at most 0.25, so up to 0.375 of 2 on average; exact (1 of 3): none wrong"},
		{"{}", []batch.Certificate{nameless}, Answers, "probabilistic: each wrong with probability at most 0.125, so up to 0.125 of 1 on average"},
		{"{}", []batch.Certificate{haar}, Reaching, "probabilistic (haar): each vector that reaches the least score is missed with probability at most 0.25; no promise for all together"},
		{"{}", []batch.Certificate{haar}, AllPairs, "probabilistic (haar): each pair is missed with probability at most 0.25; no promise for all together"},
		{"{}", []batch.Certificate{certain}, AllPairs, "certain: no pair is missing"},
		{"{}", []batch.Certificate{heuristic}, Answers, "heuristic: no promise"},
		{"{}", []batch.Certificate{exact, stopped, exact}, Answers, "exact (2 of 3): none wrong; bound (1 of 3): " + open},
		{"{}", []batch.Certificate{merged}, Answers, "heuristic: no promise"},
		{"{}", []batch.Certificate{stopped, bound}, Answers, "bound: " + open},
		{"{}", []batch.Certificate{bound, risk}, AllPairs, "bound: " + open + ", but with probability at most 0.125"},
		{"{}", []batch.Certificate{exact, rounded}, Answers, "exact for float32, largest change 0.12: none wrong"},
		{"{}", []batch.Certificate{rounded, haar}, Answers, "exact for float32, largest change 0.12 (1 of 2): none wrong; probabilistic (haar) for float32, largest change 0.12 (1 of 2): each wrong with probability at most 0.25, so up to 0.25 of 1 on average"},
		{`{"queries":2,"allowed":0.5,"guarantees":{"probabilistic":2}}`, nil, Answers, "probabilistic: each wrong with probability at most 0.25, so up to 0.5 of 2 on average"},
		{`{"queries":2,"allowed":0.5,"guarantees":{"probabilistic":2}}`, []batch.Certificate{haar}, Answers, "probabilistic (haar): each wrong with probability at most 0.25, so up to 0.75 of 3 on average"},
	} {
		var p, together Promises
		if err := errors.Join(json.Unmarshal([]byte(c.former), &p), json.Unmarshal([]byte(c.former), &together)); err != nil {
			t.Fatal(err)
		}
		answers := make([]batch.Answer, len(c.added))
		for i := range c.added {
			p.Add(&c.added[i])
			answers[i].Certificate = c.added[i]
		}
		together.AddAll(answers)
		if diff := cmp.Diff(p, together); diff != "" {
			t.Errorf("%v counted together:\n%s", c.added, diff)
		}
		text, err := json.Marshal(&p)
		if err != nil {
			t.Fatal(err)
		}
		var again Promises
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		for name, p := range map[string]*Promises{"counted": &p, "read again": &again} {
			if got := p.Say(c.of); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
	}
}

// TestPromise words what one answer promises.
func TestPromise(t *testing.T) {
	for _, c := range []struct {
		certificate batch.Certificate
		want        string
	}{
		{batch.Certificate{Guarantee: batch.GuaranteeExact, StoppedBy: batch.Done}, "these are the true 7 best, beyond chance"},
		{batch.Certificate{Guarantee: batch.GuaranteeCertain}, "these are the true 7 best, beyond chance"},
		{batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Delta: .25, StoppedBy: batch.Done}, "these are the true 7 best with probability at least 0.75"},
		{batch.Certificate{Guarantee: batch.GuaranteeHeuristic, StoppedBy: batch.Done}, "no promise"},
		{batch.Certificate{Guarantee: batch.GuaranteeExact, StoppedBy: batch.Deadline}, "the best found until then; no vector left out scores above the open bound"},
		{batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, StoppedBy: batch.Cancelled}, "the best found until then; no vector left out scores above the open bound"},
	} {
		if got := Promise(&c.certificate, 7); got != c.want {
			t.Errorf("%+v: %q, want %q", c.certificate, got, c.want)
		}
	}
}
