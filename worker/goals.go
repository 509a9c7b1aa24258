package worker

import (
	"math"
	"slices"

	"thresher/batch"
)

// wishes are what the queries of a call ask for, each for itself.
type wishes struct {
	ks                  []int64
	floors, ceilings    []float64
	exclude, candidates *lists
	allow, deny         []int64
	masked              bool // allow is from a mask
}

// lists are one list of row numbers a query.
type lists struct {
	lims, rows []int64
}

func (l *lists) of(j int) []int64 {
	if l == nil {
		return nil
	}
	return l.rows[l.lims[j]:l.lims[j+1]]
}

// wishes reads the arrays of goals of m queries over n atoms.
func (c *call) wishes(m, n int, withCandidates bool) (w *wishes, err error) {
	w = &wishes{}
	if w.ks, err = vector[int64](c.arguments, "ks", m, int64s); err != nil {
		return nil, err
	}
	for j, k := range w.ks {
		if k < 1 {
			return nil, wrong("ks", "%d, at least 1", k).at(int64(j))
		}
	}
	if w.floors, err = vector[float64](c.arguments, "floors", m, float64s); err != nil {
		return nil, err
	}
	if w.ceilings, err = vector[float64](c.arguments, "ceilings", m, float64s); err != nil {
		return nil, err
	}
	if w.exclude, err = c.lists("exclude", m); err != nil {
		return nil, err
	}
	if withCandidates {
		if w.candidates, err = c.lists("candidates", m); err != nil {
			return nil, err
		}
	}
	if w.allow, err = c.rowNumbers("allow", -1); err != nil {
		return nil, err
	}
	if w.deny, err = c.rowNumbers("deny", -1); err != nil {
		return nil, err
	}
	mask, err := vector[uint8](c.arguments, "mask", n, bools)
	if mask == nil || err != nil {
		return w, err
	}
	if w.allow != nil {
		return nil, wrong("mask", "allow is given too; one of them says which atoms may be returned")
	}
	w.allow, w.masked = []int64{}, true
	for i, b := range mask {
		if b != 0 {
			w.allow = append(w.allow, int64(i))
		}
	}
	return w, nil
}

// lists reads a CSR matrix's indices and, as NAME_lims, indptr; nil if there is none.
func (c *call) lists(name string, m int) (*lists, error) {
	rows, err := c.rowNumbers(name, -1)
	if err != nil {
		return nil, err
	}
	lims, err := c.rowNumbers(name+"_lims", m+1)
	switch {
	case err != nil:
		return nil, err
	case (rows == nil) != (lims == nil):
		return nil, wrong(name, "%s and %s_lims go together, and one is missing", name, name)
	case lims == nil:
		return nil, nil
	case lims[0] != 0 || lims[m] != int64(len(rows)):
		return nil, wrong(name+"_lims", "from %d to %d; they go from 0 to the %d entries of %s", lims[0], lims[m], len(rows), name)
	}
	for j := range m {
		if lims[j] > lims[j+1] {
			return nil, wrong(name+"_lims", "%d after %d; they ascend", lims[j+1], lims[j]).at(int64(j))
		}
	}
	return &lists{lims, rows}, nil
}

// goals returns the goals of queries lo to hi-1; nil if they ask for nothing themselves.
func (w *wishes) goals(lo, hi int) []batch.QueryGoal {
	if w.ks == nil && w.floors == nil && w.ceilings == nil && w.exclude == nil && w.candidates == nil {
		return nil
	}
	limit := func(x []float64, j int) *float64 {
		if x == nil || math.IsNaN(x[j]) {
			return nil
		}
		return &x[j]
	}
	all := make([]batch.QueryGoal, hi-lo)
	for i := range all {
		j := lo + i
		all[i] = batch.QueryGoal{MinScore: limit(w.floors, j), MaxScore: limit(w.ceilings, j), Exclude: w.exclude.of(j), Candidates: w.candidates.of(j)}
		if w.ks != nil {
			all[i].K = int(min(w.ks[j], math.MaxInt32))
		}
	}
	return all
}

// most returns the greatest k of the queries, or k if they have none of their own.
func (w *wishes) most(k int) int {
	if len(w.ks) == 0 {
		return k
	}
	return int(min(slices.Max(w.ks), math.MaxInt32))
}

// located renumbers an error of queries lo and later, and names the array that is wrong instead
// of the field that it fills.
func (w *wishes) located(err error, lo int) error {
	f := asFailure(err)
	if f == nil || f.Kind != badInput {
		return err
	}
	if f.Row != nil && lo > 0 {
		moved := *f.Row + int64(lo)
		f.Row = &moved
	}
	switch {
	case f.Argument == "min_score" && w.floors != nil:
		f.Argument = "floors"
	case f.Argument == "max_score" && w.ceilings != nil:
		f.Argument = "ceilings"
	case f.Argument == "k" && w.ks != nil:
		f.Argument = "ks"
	case f.Argument == "allow" && w.masked:
		f.Argument = "mask"
	case f.Argument == "exclude_self":
		f.Argument = "self_first"
	}
	return f
}
