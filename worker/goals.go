package worker

import (
	"encoding/binary"
	"math/bits"

	"thresher/tasks"
)

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
	g.filter, g.masked = maskedRows(mask), true
	return g, nil
}

// maskedRows returns the numbers of the values of a mask that are not 0, ascending; never nil. A branch for each value
// would be guessed wrong for half of them where half are allowed.
func maskedRows(mask []uint8) []int64 {
	words, n := make([]uint64, (len(mask)+63)/64), 0
	whole := len(mask) / 8 * 8
	for i := 0; i < whole; i += 8 {
		words[i/64] |= eightBits(binary.LittleEndian.Uint64(mask[i:])) << (i % 64)
	}
	for i, b := range mask[whole:] {
		if b != 0 {
			words[whole/64] |= 1 << (whole%64 + i)
		}
	}
	for _, word := range words {
		n += bits.OnesCount64(word)
	}
	rows := make([]int64, 0, n)
	for k, word := range words {
		for ; word != 0; word &= word - 1 {
			rows = append(rows, int64(64*k+bits.TrailingZeros64(word)))
		}
	}
	return rows
}

// eightBits returns a bit for each byte of x, from the lowest on, 1 where it is not 0.
func eightBits(x uint64) uint64 {
	const lowest, together = 0x0101010101010101, 0x0102040810204080
	x |= x >> 4
	x |= x >> 2
	x |= x >> 1 // what bytes get from those above them is not in their lowest bits
	return x & lowest * together >> 56
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
