package demo

import (
	"fmt"
	"math/bits"
	"strings"

	"thresher/batch"
	"thresher/tasks"
)

// certificate explains the certificate of the first question that has one.
func (p *printer) certificate(r *Report) {
	for _, q := range r.Questions {
		if q.Certificate != nil {
			p.line("")
			p.line("== The certificate of %q, line by line ==", clip(q.Query, 50))
			p.explain(r, q.Certificate)
			return
		}
	}
}

// explain writes one line a field: name, value, what it means.
func (p *printer) explain(r *Report, c *batch.Certificate) {
	field := func(name string, value any, meaning string) { p.line("%-10s %-14v %s", name, value, meaning) }
	field("method", c.Method, methodMeaning(c.Method))
	field("guarantee", c.Guarantee, tasks.Promise(c, r.K))
	if c.Law != "" {
		field("law", c.Law, lawMeaning(c.Law))
	}
	if c.Delta > 0 {
		field("delta", fmt.Sprintf("%g", c.Delta), "the failure probability allowed, over the random rotation (--seed)")
	}
	p.looks(r, c)
	field("pulls", thousands(c.Pulls), fmt.Sprintf("coordinates read; a dense scan reads %s: %.1f times more",
		thousands(c.DensePulls), batch.Stats{Pulls: c.Pulls, DensePulls: c.DensePulls}.Saving()))
	if c.Threshold != nil {
		field("threshold", fmt.Sprintf("%.4f", *c.Threshold), "the score to reach: comments that were bounded below it are out")
	}
	if c.OpenBound == nil {
		field("open bound", "none", "nothing was left undecided: the answer is complete")
	} else {
		field("open bound", fmt.Sprintf("%.4f", *c.OpenBound), "no undecided comment scores more; the search was stopped early")
	}
	field("exact", c.Exact, exactMeaning(c.Exact))
	field("stopped by", c.StoppedBy, stopMeaning(c.StoppedBy))
	if c.Fallback != "" {
		field("fallback", "", c.Fallback)
	}
}

func methodMeaning(m batch.Method) string {
	switch m {
	case batch.Adaptive:
		return "look at a few rotated coordinates, drop what cannot win, look again"
	case batch.Certain:
		return "drop only what provably cannot win"
	case batch.Exact:
		return "the dense scan: every coordinate of every comment is read"
	}
	return "see docs/guarantee.md"
}

func lawMeaning(l batch.Law) string {
	switch l {
	case batch.LawHaar:
		return "the rotation is drawn evenly from all there are: the probability is proven"
	case batch.LawCalibrated:
		return "a fast rotation: the probability is checked by simulation, not proven"
	}
	return "see docs/guarantee.md"
}

func exactMeaning(exact bool) string {
	if exact {
		return "no comment was dropped by a bound that can fail: right whatever the luck"
	}
	return "some comments were dropped by a bound that can fail; delta covers it"
}

func stopMeaning(s batch.Stop) string {
	if s == batch.Done {
		return "the search ended by itself, not by a deadline"
	}
	return "the answer holds the best found until then"
}

// looks draws how the field thins out.
func (p *printer) looks(r *Report, c *batch.Certificate) {
	if len(c.Looks) == 0 {
		p.line("%-10s %-14s %s", "looks", "none", "every comment was read in full")
		return
	}
	p.line("%-10s %-14d %s", "looks", len(c.Looks), "glances at the undecided comments; below, each # is a factor of two")
	seen := c.Looks[0].Seen
	first := "undecided"
	if n := r.Atoms - seen; n > 0 {
		first = fmt.Sprintf("undecided; the other %s were ruled out by their norms alone", thousands(n))
	}
	p.undecided("at first", seen, first)
	for i, l := range c.Looks {
		p.undecided(fmt.Sprintf("look %d", i+1), l.Survivors, lookMeaning(l))
	}
	p.undecided("in full", c.RowsScored, "read whole in the end, those that set the threshold included")
}

func (p *printer) undecided(when string, n int, meaning string) {
	p.line("  %-8s %9s  %-14s %s", when, thousands(n), strings.Repeat("#", min(bits.Len(uint(max(n, 0))), 14)), meaning)
}

func lookMeaning(l batch.LookRecord) string {
	coded := "coded "
	if l.Reads == "float32" {
		coded = ""
	}
	risk := "no risk"
	if l.Alpha > 0 {
		risk = fmt.Sprintf("risk %.2g for each winner", l.Alpha)
	}
	return fmt.Sprintf("left after %s %scoordinates; %s", thousands(l.Width), coded, risk)
}
