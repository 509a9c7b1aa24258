package tasks

import (
	"testing"

	"thresher/batch"
	"thresher/verify"
)

func TestVerdict(t *testing.T) {
	probabilistic := batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Delta: .01}
	certain := batch.Certificate{Guarantee: batch.GuaranteeCertain}
	luckless := probabilistic
	luckless.Exact = true
	cases := []struct {
		name            string
		certificate     batch.Certificate
		right, wrong    int
		malformed       bool
		loose, strictly bool // whether the verdict is an error
	}{
		{"all right", probabilistic, 100, 0, false, false, false},
		{"as delta allows", probabilistic, 98, 2, false, false, false},
		{"far beyond delta", probabilistic, 80, 20, false, false, true},
		{"one wrong under certain", certain, 99, 1, false, true, true},
		{"one wrong without any chance taken", luckless, 99, 1, false, true, true},
		{"heuristic", batch.Certificate{Guarantee: batch.GuaranteeHeuristic}, 10, 90, false, false, false},
		{"malformed", probabilistic, 99, 0, true, true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var r VerifySummary
			for range c.right {
				r.Add(0, &c.certificate, verify.Finding{Trials: 1})
			}
			for range c.wrong {
				r.Add(0, &c.certificate, verify.Finding{Missed: []int64{4}, Trials: 1, Failures: 1})
			}
			if c.malformed {
				r.Add(0, &c.certificate, verify.Finding{Malformed: "bad"})
			}
			r.Finish()
			if (r.Verdict(false) != nil) != c.loose || (r.Verdict(true) != nil) != c.strictly {
				t.Errorf("verdicts %v and, strict, %v; report %+v", r.Verdict(false), r.Verdict(true), r)
			}
			if c.wrong > 0 && r.Neighbourhoods != 1 {
				t.Errorf("%d neighbourhoods, all lack the same atom", r.Neighbourhoods)
			}
		})
	}
}
