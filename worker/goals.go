package worker

import "thresher/tasks"

// goals are what the queries of a call ask for: each for itself, and all of them.
type goals struct {
	tasks.Goals
	filter, excluded []int64 // of all queries
	masked           bool    // filter is from a mask
}

// readGoals reads the arrays of goals of m queries over n atoms.
func (c *call) readGoals(m, n int, withCandidates bool) (g *goals, err error) {
	g = &goals{}
	if g.K, err = vector[int64](c.arguments, "ks", m, int64s); err != nil {
		return nil, err
	}
	for j, k := range g.K {
		if k < 1 {
			return nil, wrong("ks", "%d, at least 1", k).at(int64(j))
		}
	}
	if g.MinScore, err = vector[float64](c.arguments, "floors", m, float64s); err != nil {
		return nil, err
	}
	if g.MaxScore, err = vector[float64](c.arguments, "ceilings", m, float64s); err != nil {
		return nil, err
	}
	if g.Exclude, err = c.lists("exclude", m); err != nil {
		return nil, err
	}
	if withCandidates {
		if g.Candidates, err = c.lists("candidates", m); err != nil {
			return nil, err
		}
	}
	if g.filter, err = c.rowNumbers("filter", -1); err != nil {
		return nil, err
	}
	if g.excluded, err = c.rowNumbers("exclude_all", -1); err != nil {
		return nil, err
	}
	mask, err := vector[uint8](c.arguments, "mask", n, bools)
	if mask == nil || err != nil {
		return g, err
	}
	if g.filter != nil {
		return nil, wrong("mask", "filter is given too; one of them says which vectors may be returned")
	}
	g.filter, g.masked = []int64{}, true
	for i, b := range mask {
		if b != 0 {
			g.filter = append(g.filter, int64(i))
		}
	}
	return g, nil
}

// lists reads a CSR matrix's indices and, as NAME_lims, indptr; nil if there is none.
func (c *call) lists(name string, m int) (*tasks.Lists, error) {
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
	}
	all, err := tasks.NewLists(lims, rows, m)
	if f := asFailure(err); f != nil {
		f.Argument = name + "_lims"
		return nil, f
	}
	return all, nil
}

// located names the array that is wrong in an error instead of the field that it fills.
func (g *goals) located(err error) error {
	f := asFailure(err)
	if f == nil || f.Kind != badInput {
		return err
	}
	switch {
	case f.Argument == "min_score" && g.MinScore != nil:
		f.Argument = "floors"
	case f.Argument == "max_score" && g.MaxScore != nil:
		f.Argument = "ceilings"
	case f.Argument == "k" && g.K != nil:
		f.Argument = "ks"
	case f.Argument == "filter" && g.masked:
		f.Argument = "mask"
	case f.Argument == "exclude" && f.Row == nil && g.excluded != nil:
		f.Argument = "exclude_all"
	case f.Argument == "exclude_self":
		f.Argument = "self_first"
	}
	return f
}
