//go:build cuda && cgo

package gpu

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/gpu/device"
)

// goalLists are one query's filter and lists of atoms on the device: addresses, 0 for none, and lengths.
type goalLists struct {
	filter, excluded, given uint64
	excludes, givens        uint32
}

// given returns the candidates that the goal names and that are scored before the first look. A search
// for all atoms that reach a floor has no use for them and treats them as the others, as on the CPU.
func (a *hostQuery) given() []uint32 {
	if a.goal.K == 0 {
		return nil
	}
	return a.goal.Candidates
}

// shown counts the atoms of lo to hi-1 that looks see: those that the goal's filter and From allow and
// that are not hidden. lo is the first atom of a strip.
func (a *hostQuery) shown(lo, hi int) int {
	first := max(lo, a.goal.From)
	if first >= hi {
		return 0
	}
	hidden := within(a.hidden, first, hi)
	f := a.goal.Filter
	if f == nil {
		return hi - first - len(hidden)
	}
	n := countBits(f.Bits(), lo, hi)
	for i := lo; i < first; i++ {
		n -= flag(f.Has(i))
	}
	for _, i := range hidden {
		n -= flag(f.Has(int(i)))
	}
	return n
}

// within returns the part of an ascending list that lies in [lo, hi).
func within(atoms []uint32, lo, hi int) []uint32 {
	from, _ := slices.BinarySearch(atoms, uint32(lo))
	n, _ := slices.BinarySearch(atoms[from:], uint32(hi))
	return atoms[from : from+n : from+n]
}

// flag returns 1 for true.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// bounded reports whether the query wants no atoms above some score.
func (a *hostQuery) bounded() bool { return !math.IsInf(a.goal.Ceiling, 1) }

// wants reports whether an atom of this score may be in the answer.
func (s *query) wants(score float64) bool { return score >= s.floor && score <= s.ceiling }

// orderByScan sets where the scan of each query begins, and orders the slots of each kind by it, so that chunks are of
// queries that begin close to each other: first those whose first looks may begin with a start, then the others of which the
// device keeps the best, then those of which the host collects the scores.
func (x *run) orderByScan() {
	ordered := true
	for p := range x.queries {
		a := &x.queries[p]
		a.scanFrom = stripOf(a.goal.From, x.r.c.N)
		starts := p < x.deviceKept && x.startsEarly(a)
		ordered = ordered && a.scanFrom == 0 && (!starts || x.starting == p)
		x.starting += flag(starts)
	}
	if ordered {
		return
	}
	kind := func(p int) int {
		switch {
		case p >= x.deviceKept:
			return 2
		case x.startsEarly(&x.queries[p]):
			return 0
		}
		return 1
	}
	of, queries := backend.QueryIndexes(0, len(x.slot)), make([]hostQuery, len(x.queries))
	slices.SortStableFunc(of, func(i, j int) int {
		p, r := x.slot[i], x.slot[j]
		return cmp.Or(cmp.Compare(kind(p), kind(r)), cmp.Compare(x.queries[p].scanFrom, x.queries[r].scanFrom))
	})
	for p, j := range of {
		queries[p], x.slot[j] = x.queries[x.slot[j]], p
	}
	x.queries = queries
}

// stripOf returns where the scan of a query begins whose first atom is from: at the first atom of its strip.
func stripOf(from, n int) int { return max(0, min(from, n-1)) / looks.StripAtoms * looks.StripAtoms }

// hideAtoms lists for each query the atoms that looks pass over.
func (x *run) hideAtoms() {
	for p := range x.queries {
		a := &x.queries[p]
		a.hidden = a.goal.Exclude
		if given := a.given(); len(given) > 0 {
			a.hidden = make([]uint32, 0, len(a.goal.Exclude)+len(given))
			a.hidden = append(append(a.hidden, a.goal.Exclude...), given...)
			slices.Sort(a.hidden)
		}
	}
}

// uploadFilters uploads each filter once. It returns the lists of each slot, with the address of its filter.
func (x *run) uploadFilters(t *device.Thread) ([]goalLists, error) {
	at := make([]goalLists, len(x.queries))
	offsets := map[*backend.Filter]array[uint64]{}
	var mem arrayLayout
	for p := range x.queries {
		if f := x.queries[p].goal.Filter; f != nil {
			if _, ok := offsets[f]; !ok {
				offsets[f] = place[uint64](&mem, len(f.Bits()))
			}
		}
	}
	if len(offsets) == 0 {
		return at, nil
	}
	var err error
	if x.filters, err = x.r.m.pool.TakeDevice(t, "filters", int(mem)); err != nil {
		return nil, err
	}
	for f, offset := range offsets {
		if err := x.filters.Upload(t, int(offset), bytesOfSlice(f.Bits())); err != nil {
			return nil, err
		}
	}
	for p := range x.queries {
		if f := x.queries[p].goal.Filter; f != nil {
			at[p].filter = uint64(x.filters.Address()) + uint64(offsets[f])
		}
	}
	return at, nil
}

// uploadAtoms uploads the hidden atoms and given candidates of all queries as one array, if there are any,
// and enters them in lists, which are by slot. Neighbours that name the same slice share its copy.
func (x *run) uploadAtoms(t *device.Thread, lists []goalLists) (err error) {
	n := 0
	for p := range x.queries {
		n += len(x.queries[p].hidden)
	}
	if n == 0 {
		return nil
	}
	all := make([]uint32, 0, 2*(n+len(lists)))
	put := func(atoms []uint32) uint64 { // the offset in bytes
		at := 4 * len(all)
		all = append(append(all, atoms...), math.MaxUint32) // the mark that kernels/allowed.cuh relies on
		return uint64(at)
	}
	for p := range x.queries {
		a, l := &x.queries[p], &lists[p]
		if p > 0 && len(a.hidden) > 0 && unsafe.SliceData(a.hidden) == unsafe.SliceData(x.queries[p-1].hidden) && len(a.hidden) == len(x.queries[p-1].hidden) {
			l.excluded = lists[p-1].excluded
		} else if len(a.hidden) > 0 {
			l.excluded = put(a.hidden)
		}
		l.excludes, l.givens = uint32(len(a.hidden)), uint32(len(a.given()))
		if l.given = l.excluded; l.givens != l.excludes && l.givens > 0 {
			l.given = put(a.given())
		}
	}
	if x.atoms, err = x.r.m.pool.TakeDevice(t, "lists of atoms", 4*len(all)); err != nil {
		return err
	}
	for p := range lists { // addresses; those of empty lists are not used
		lists[p].excluded += uint64(x.atoms.Address())
		lists[p].given += uint64(x.atoms.Address())
	}
	return x.atoms.Upload(t, 0, bytesOfSlice(all))
}

// scoreGiven scores the candidates that goals name, which may raise thresholds.
func (x *run) scoreGiven(q *queue) error {
	for _, part := range [...]queryChunk{{b: x.b, lo: 0, hi: x.deviceKept}, {b: x.b, lo: x.deviceKept, hi: x.input.M, collects: true}} {
		most := 0
		for p := part.lo; p < part.hi; p++ {
			most = max(most, len(x.queries[p].given()))
		}
		for range blocks(most, x.b.candidateRoom) {
			part.scoreGiven(q)
			if !part.collects {
				continue
			}
			if err := part.downloadScores(q, x.keepScores); err != nil {
				return err
			}
		}
	}
	return q.err
}

// newChunk returns the chunk of the queries in slots lo to hi-1, whose scan begins where the first of them does.
func (x *run) newChunk(lo, hi int, collects bool) queryChunk {
	qs := queryChunk{b: x.b, lists: x.lists, lo: lo, hi: hi, collects: collects, nextAtom: x.queries[lo].scanFrom, starts: hi <= x.starting}
	qs.together = x.queries[hi-1].scanFrom == qs.nextAtom // slots are in this order
	for p := lo; p < hi; p++ {
		qs.ceilings = qs.ceilings || x.queries[p].bounded()
	}
	return qs
}

// chunkEndAfter returns the end of the first chunk of a query of qs that ends after atom at.
func (x *run) chunkEndAfter(qs *queryChunk, at int, l *look) int {
	end := x.r.c.N
	for p := qs.lo; p < qs.hi; p++ {
		if s := x.queries[p].scanFrom; p == qs.lo || s != x.queries[p-1].scanFrom {
			end = min(end, x.scanEnd(&x.queries[p], at, l))
		}
	}
	return end
}
