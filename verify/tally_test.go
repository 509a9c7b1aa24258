package verify

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/batch"
)

// TestTally: Delta and Trials cover only answers that could fail.
func TestTally(t *testing.T) {
	first := batch.Certificate{Method: batch.BoundedME, Guarantee: batch.GuaranteeProbabilistic, Law: batch.LawPublished, Delta: .1, Epsilon: .5}
	chance := batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Law: batch.LawHaar, Delta: .1}
	less := batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Law: batch.LawOrder, Delta: .2, StoppedBy: batch.Deadline}
	luckless := batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Law: batch.LawHaar, Delta: .1, Exact: true, StoppedBy: batch.Done}
	certain := batch.Certificate{Guarantee: batch.GuaranteeCertain}
	heuristic := batch.Certificate{Guarantee: batch.GuaranteeHeuristic, Delta: .1}
	lacks := func(trials int, gap float64, rows ...int64) Finding {
		return Finding{Missed: rows, Gap: gap, Trials: trials, Failures: len(rows)}
	}
	var got Tally
	for _, x := range []struct {
		c batch.Certificate
		f Finding
	}{
		{first, Finding{Trials: 1, Exceeds: "much"}}, {chance, lacks(1, .5, 7)}, {chance, Finding{Malformed: "bad"}},
		{less, Finding{Trials: 1}}, {less, lacks(3, .25, 7, 8)},
		{luckless, Finding{Trials: 1}}, {luckless, lacks(1, .75, 3)},
		{certain, lacks(1, .125, 8)}, {heuristic, lacks(1, 2, 5)},
	} {
		got.Add(&x.c, x.f)
	}
	got.Finish()
	want := Tally{Wrong: 6, Malformed: 1, Unfinished: 2, WrongSure: 2, Exceeding: 1,
		Criteria:   map[Criterion]int64{CriterionMissing: 7, CriterionThreshold: 1},
		Granted:    Granted{Epsilon: .5, WithEpsilon: 1, Delta: .2, WithDelta: 5},
		Guarantees: map[batch.Guarantee]int64{batch.GuaranteeProbabilistic: 7, batch.GuaranteeCertain: 1, batch.GuaranteeHeuristic: 1},
		Laws:       map[batch.Law]int64{batch.LawHaar: 4, batch.LawOrder: 2, batch.LawPublished: 1},
		Delta:      (2*.1 + 4*.2) / 6, Trials: 6, Failures: 3, Rate: .5, PValue: binomialTail(3, 6, (2*.1+4*.2)/6),
		Neighbourhoods: 3, WorstGap: 2} // {7 8}, {3}, {5}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Tally{}), cmpopts.EquateApprox(0, 1e-12)); d != "" {
		t.Errorf("tally (-want +got):\n%s", d)
	}
	got = Tally{}
	if got.Finish(); got.PValue != 1 || got.Trials != 0 {
		t.Errorf("of no answers: %+v", got)
	}
}

// TestVerdict: what is beyond the promises, and what is within delta, which only strict refuses.
func TestVerdict(t *testing.T) {
	probabilistic := batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Delta: .01}
	certain := batch.Certificate{Guarantee: batch.GuaranteeCertain}
	luckless := probabilistic
	luckless.Exact = true
	lacks := Finding{Missed: []int64{4}, Trials: 1, Failures: 1}
	for _, c := range []struct {
		name            string
		certificate     batch.Certificate
		right           int
		bad             Finding
		count           int
		loose, strictly bool // whether the verdict is an error
	}{
		{"all right", probabilistic, 100, lacks, 0, false, false},
		{"as delta allows", probabilistic, 99, lacks, 1, false, true},
		{"not far beyond the mean", probabilistic, 97, lacks, 3, false, true},
		{"far beyond delta", probabilistic, 80, lacks, 20, true, true},
		{"one wrong under certain", certain, 99, lacks, 1, true, true},
		{"one wrong without any chance taken", luckless, 99, lacks, 1, true, true},
		{"heuristic", batch.Certificate{Guarantee: batch.GuaranteeHeuristic}, 10, lacks, 90, false, false},
		{"malformed", probabilistic, 99, Finding{Malformed: "bad"}, 1, true, true},
		{"beyond the bar", probabilistic, 99, Finding{Exceeds: "much", Trials: 1}, 1, true, true},
	} {
		var r Tally
		for range c.right {
			r.Add(&c.certificate, Finding{Trials: 1})
		}
		for range c.count {
			r.Add(&c.certificate, c.bad)
		}
		r.Finish()
		if (r.Verdict(false) != nil) != c.loose || (r.Verdict(true) != nil) != c.strictly {
			t.Errorf("%s: verdicts %v and, strict, %v; %+v", c.name, r.Verdict(false), r.Verdict(true), r)
		}
	}
}

func TestBinomialTail(t *testing.T) {
	for _, c := range []struct {
		n, k int64
		p    float64
	}{{10, 1, .1}, {10, 3, .25}, {1000, 25, .01}, {5, 5, .5}, {7, 0, .3}, {200, 1, .01}, {200, 50, .3}, {200, 60, .3}, {200, 61, .3}, {200, 200, .9}} {
		var want float64
		for x := c.k; x <= c.n; x++ {
			logp := float64(x)*math.Log(c.p) + float64(c.n-x)*math.Log1p(-c.p)
			for y := int64(1); y <= x; y++ {
				logp += math.Log(float64(c.n-x+y)) - math.Log(float64(y))
			}
			want += math.Exp(logp)
		}
		if got := binomialTail(c.k, c.n, c.p); math.Abs(got-want) > 1e-9*want {
			t.Errorf("P(X >= %d), X ~ B(%d, %g): %g, want %g", c.k, c.n, c.p, got, want)
		}
	}
	if binomialTail(1, 10, 0) != 0 || binomialTail(3, 10, 1) != 1 {
		t.Error("certain outcomes are not")
	}
}

func TestNeighbourhoods(t *testing.T) {
	var g atomGroups
	for _, missed := range [][]int64{{1, 2}, {2, 3}, {7}, {9, 8}, {3}, {8}} {
		g.join(missed)
	}
	if g.count() != 3 { // {1 2 3}, {7}, {8 9}
		t.Errorf("%d groups, want 3", g.count())
	}
}
