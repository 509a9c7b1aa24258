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
	of, err := c.rowNumbers("filter_of", m)
	if err != nil {
		return nil, err
	}
	if of != nil {
		err = g.filterEach(c, of)
	} else {
		g.filter, err = c.rowNumbers("filter", -1)
	}
	if err != nil {
		return nil, err
	}
	if g.excluded, err = c.rowNumbers("exclude_all", -1); err != nil {
		return nil, err
	}
	mask, err := vector[uint8](c.arguments, "mask", n, bools)
	if mask == nil || err != nil {
		return g, err
	}
	if g.filter != nil || g.Filter != nil {
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

// filterEach gives each query the filter that of names, of those that are lists.
func (g *goals) filterEach(c *call, of []int64) error {
	rows, err := c.rowNumbers("filter", -1)
	if err != nil {
		return err
	}
	lims, err := c.rowNumbers("filter_lims", -1)
	if err != nil {
		return err
	}
	if rows == nil || len(lims) == 0 {
		return wrong("filter_of", "filter and filter_lims, which have the filters, are missing")
	}
	all, err := tasks.NewLists(lims, rows, len(lims)-1)
	if f := asFailure(err); f != nil {
		f.Argument = "filter_lims"
		return f
	}
	g.Filter = make([][]int64, len(of))
	for j, i := range of {
		switch {
		case i == -1: // all
		case i < 0 || i >= int64(len(lims)-1):
			return wrong("filter_of", "filter %d of %d", i, len(lims)-1).at(int64(j))
		default:
			g.Filter[j] = all.Of(int(i))
		}
	}
	return nil
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
	case f.Argument == "filter" && f.Row != nil && g.Filter != nil:
		f.Argument = "filter_of"
	case f.Argument == "exclude" && f.Row == nil && g.excluded != nil:
		f.Argument = "exclude_all"
	case f.Argument == "exclude_self":
		f.Argument = "self_first"
	}
	return f
}
