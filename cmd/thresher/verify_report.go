package main

import (
	"fmt"
	"io"

	"thresher/internal/cli"
	"thresher/tasks"
)

// shown is the most defects that a report lists.
const shown = 10

// verifyReport is the result that verify prints.
type verifyReport struct {
	Queries int64 `json:"queries"` // in the answers
	tasks.Filtered
	columnsRead
	*tasks.VerifySummary

	kColumn string // has the k of each query; "" if it is K
	bare    bool   // the answers have no certificates
	flag    bool   // and a flag says what their guarantee is
	stating bool   // their file does
}

// verdict returns the error that sets the exit code.
func (r *verifyReport) verdict(strict bool) error {
	if r.Malformed > 0 && r.Short > 0 && r.bare {
		return fmt.Errorf("%d of %d answers are malformed, %d of them too short; if a deadline cut the search short, --certificates says so",
			r.Malformed, r.Checked, r.Short)
	}
	if r.Malformed > 0 && r.Unfinished > 0 && r.bare {
		return fmt.Errorf("%d of %d answers are malformed, %d are of searches that were stopped; their open bounds are in the file of search --certificates",
			r.Malformed, r.Checked, r.Unfinished)
	}
	return r.Verdict(strict)
}

// print writes the report as a table.
func (r *verifyReport) print(w io.Writer) error {
	t := cli.NewTable(w)
	t.Row("checked", fmt.Sprintf("%d of %d answers, %s, %s", r.Checked, r.Queries, r.Metric, r.goal()))
	printFilter(t, &r.Filtered)
	r.columnsRead.print(t)
	t.Row("guarantee", withLaw(names(r.Guarantees, "none"), names(r.Laws, ""))+r.origin())
	if granted := r.Granted.String(); granted != "" {
		t.Row("granted", granted)
	}
	for _, criterion := range r.CriteriaUsed() {
		t.Row("criterion", criterion)
	}
	t.Row("wrong", r.Wrong)
	if r.Exceeding > 0 {
		t.Row("", fmt.Sprintf("%d of them grant more than --epsilon, --delta and --require allow", r.Exceeding))
	}
	t.Row("malformed", r.Malformed)
	if r.Rounded > 0 {
		text := "coordinates were compared as float32 has them, largest change %.2g"
		if r.AsGiven {
			text = "coordinates were compared as given; answers may differ by what float32 changes of one, at most %.2g"
		}
		t.Row("rounded", fmt.Sprintf(text, r.Rounded))
	}
	if r.Unfinished > 0 {
		t.Row("unfinished", fmt.Sprintf("%d, held to their open bound", r.Unfinished))
	}
	if r.Scores != nil {
		t.Row("scores", r.Scores)
	}
	if r.Neighbourhoods > 0 {
		t.Row("neighbourhoods", fmt.Sprintf("%d groups of wrong answers that lack the same vector", r.Neighbourhoods))
		t.Row("worst gap", fmt.Sprintf("%.4g", r.WorstGap))
	}
	if r.Trials > 0 {
		t.Row("rate", fmt.Sprintf("%d failures in %d = %.3g; delta allows %.3g", r.Failures, r.Trials, r.Rate, r.Delta))
		t.Row("binomial p", fmt.Sprintf("%.3g if independent", r.PValue))
	}
	for _, d := range r.Defects[:min(shown, len(r.Defects))] {
		t.Row("", fmt.Sprintf("query %d: %s", d.Query, d.What))
	}
	return t.Flush()
}

// origin says where the guarantee of answers without certificates is from.
func (r *verifyReport) origin() string {
	switch {
	case !r.bare:
		return ""
	case r.flag:
		return ", by --guarantee"
	case r.stating:
		return ", by their file"
	}
	return ", as their file says nothing else"
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
