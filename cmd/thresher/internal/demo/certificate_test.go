package demo

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"thresher/batch"
)

func TestExplain(t *testing.T) {
	half, open := .5, .75
	for name, c := range map[string]struct {
		certificate batch.Certificate
		says        []string
		silent      []string
	}{
		"adaptive": {
			batch.Certificate{Method: batch.Adaptive, Guarantee: batch.GuaranteeProbabilistic, Law: batch.LawCalibrated, Delta: .01, StoppedBy: batch.Done,
				Pulls: 1000, DensePulls: 12000, RowsScored: 70, Threshold: &half,
				Looks: []batch.LookRecord{
					{Reads: "panels", Width: 1192, Rule: "student", Alpha: .0005, Seen: 936, Survivors: 31},
					{Reads: "float32", Width: 320, Rule: "cauchy", Seen: 31, Survivors: 0},
				}},
			[]string{"0.99", "calibrated     a fast rotation: the probability is checked by simulation, not proven", "12.0 times", "0.5000", "the other 64", "936  ########## ", " 31  ##### ", "1,192 coded coordinates; risk 0.0005",
				"320 coordinates; no risk", "  in full         70", "none", "false", "not by a deadline"},
			[]string{"fallback", "is proven"},
		},
		"exact": {
			batch.Certificate{Method: batch.Exact, Guarantee: batch.GuaranteeExact, Exact: true, StoppedBy: batch.Done, Pulls: 9, DensePulls: 9},
			[]string{"dense scan", "every comment was read in full", "beyond chance", "true", "1.0 times"},
			[]string{"delta", "law", "threshold"},
		},
		"certain": {
			batch.Certificate{Method: batch.Certain, Guarantee: batch.GuaranteeCertain, Exact: true, StoppedBy: batch.Done},
			[]string{"provably", "beyond chance"},
			nil,
		},
		"deadline": {
			batch.Certificate{Method: batch.Adaptive, Guarantee: batch.GuaranteeProbabilistic, Law: batch.LawHaar, Delta: .1, StoppedBy: batch.Deadline,
				OpenBound: &open, Fallback: "kernel missing"},
			[]string{"haar ", "the probability is proven", "0.7500", "stopped early", "deadline", "kernel missing"},
			[]string{"not by a deadline", "undecided: the answer is complete"},
		},
		"heuristic": {
			batch.Certificate{Method: batch.BanditMIPSAlpha, Guarantee: batch.GuaranteeHeuristic},
			[]string{"no promise", "docs/guarantee.md"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			p := &printer{w: &b}
			p.explain(&Report{Atoms: 1000, K: 10}, &c.certificate)
			text := b.String()
			for _, s := range c.says {
				if !strings.Contains(text, s) {
					t.Errorf("does not say %q:\n%s", s, text)
				}
			}
			for _, s := range c.silent {
				if strings.Contains(text, s) {
					t.Errorf("says %q:\n%s", s, text)
				}
			}
			for line := range strings.Lines(text) {
				if strings.HasSuffix(line, "...\n") || utf8.RuneCountInString(line) > lineWidth+1 {
					t.Errorf("line is cut: %s", line)
				}
			}
		})
	}
}

func TestFigures(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for s, want := range map[float64]string{.0000021: "0.002 ms", .0123: "12.3 ms", .5: "0.50 s", 9.876: "9.88 s", 67.4: "67 s"} {
		if got := seconds(s); got != want {
			t.Errorf("%g: %s, want %s", s, got, want)
		}
	}
	for _, c := range []struct {
		part, whole int64
		want        string
	}{{87, 1000, "8.7%"}, {1, 1, "100%"}, {1, 30000, "0.0033%"}, {0, 0, "0%"}, {996, 1000, "99.6%"}} {
		if got := percent(c.part, c.whole); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.part, c.whole, got, c.want)
		}
	}
	if got := clip("größere Wörter", 10); got != "größere..." {
		t.Error(got)
	}
}
