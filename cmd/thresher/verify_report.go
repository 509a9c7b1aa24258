package main

import (
	"fmt"
	"io"

	"thresher/batch"
	"thresher/verify"
)

// strictLevel is the binomial p below which --strict-delta calls the rate of
// wrong answers incompatible with delta.
const strictLevel = 1e-6

// shown is the most problems that a report lists.
const shown = 10

// verifyReport is the result that verify prints.
type verifyReport struct {
	Queries int64  `json:"queries"` // in the answers
	Checked int64  `json:"checked"`
	K       int    `json:"k"` // the greatest of any query; 0 if one asks for any number
	Metric  string `json:"metric"`
	columnsRead
	verify.Tally
	Problems []string `json:"problems,omitempty"`

	kColumn string // has the k of each query; "" if it is K
	short   int64  // malformed answers with too few atoms
	bare    bool   // the answers have no certificates
}

func (r *verifyReport) add(query int64, c *batch.Certificate, f verify.Finding) {
	r.Checked++
	r.Tally.Add(c, f)
	if f.Short {
		r.short++
	}
	switch {
	case f.Malformed != "":
		r.note("query %d: %s", query, f.Malformed)
	case len(f.Missed) > 0:
		r.note("query %d: lacks %s (%s)", query, describe(f), c.Guarantee)
	}
}

func describe(f verify.Finding) string {
	if len(f.Missed) == 1 {
		return fmt.Sprintf("atom %d, better by %.3g", f.Missed[0], f.Gap)
	}
	return fmt.Sprintf("atom %d and %d more, better by up to %.3g", f.Missed[0], len(f.Missed)-1, f.Gap)
}

func (r *verifyReport) note(format string, args ...any) {
	if len(r.Problems) < shown {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// verdict returns the error that sets the exit code: malformed answers and wrong ones under
// an exact or certain guarantee are errors; a failure rate is one only if strict and
// incompatible with delta.
func (r *verifyReport) verdict(strict bool) error {
	switch {
	case r.Malformed > 0 && r.short > 0 && r.bare:
		return fmt.Errorf("%d of %d answers are malformed, %d of them too short; if a deadline cut the search short, --certificates says so",
			r.Malformed, r.Checked, r.short)
	case r.Malformed > 0:
		return fmt.Errorf("%d of %d answers are malformed", r.Malformed, r.Checked)
	case r.WrongSure > 0:
		return fmt.Errorf("%d answers are wrong although their certificates are exact", r.WrongSure)
	case strict && r.PValue < strictLevel:
		return fmt.Errorf("%d failures in %d are incompatible with delta %g: p = %.2g, the limit is %g",
			r.Failures, r.Trials, r.Delta, r.PValue, strictLevel)
	}
	return nil
}

// print writes the report as a table.
func (r *verifyReport) print(w io.Writer) error {
	t := newTable(w)
	t.row("checked", fmt.Sprintf("%d of %d answers, %s, %s", r.Checked, r.Queries, r.Metric, r.goal()))
	r.columnsRead.print(t)
	t.row("guarantee", withLaw(names(r.Guarantees, "none"), names(r.Laws, "")))
	t.row("wrong", r.Wrong)
	t.row("malformed", r.Malformed)
	if r.Partial > 0 {
		t.row("partial", fmt.Sprintf("%d, held to their open bound", r.Partial))
	}
	if r.Wrong > 0 {
		t.row("neighbourhoods", fmt.Sprintf("%d groups of wrong answers that lack the same atom", r.Neighbourhoods))
		t.row("worst gap", fmt.Sprintf("%.4g", r.WorstGap))
	}
	if r.Trials > 0 {
		t.row("rate", fmt.Sprintf("%d failures in %d = %.3g; delta allows %.3g", r.Failures, r.Trials, r.Rate, r.Delta))
		t.row("binomial p", fmt.Sprintf("%.3g if independent", r.PValue))
	}
	for _, p := range r.Problems {
		t.row("", p)
	}
	return t.flush()
}

func (r *verifyReport) goal() string {
	if r.K == 0 {
		return "all that reach the least score"
	}
	if r.kColumn != "" {
		return fmt.Sprintf("k of column %s, at most %d", r.kColumn, r.K)
	}
	return fmt.Sprintf("k = %d", r.K)
}
