package papers

import (
	"fmt"
	"math/rand/v2"

	"thresher/internal/philox"
)

// WarmStart is a random subset of coordinates whose atom values are read once
// and kept, for all queries to begin with (arXiv 2212.07551, section 3.1).
//
// It is itself a family of atoms: build a query's rewards over it and pass it in
// BanditMIPSOptions.Warm. The query then draws the cached coordinates first, in
// their random order, testing after each as always, and continues with
// coordinates of its own. That is Algorithm 1 with a given beginning of its
// random sequence, so each query keeps its delta; but the failures of queries that
// share a warm start are not independent.
//
// Pulls are counted as without it, because a cached value is multiplied by the
// query all the same; Outcome.CachedPulls says how many read no atom. Filling
// the cache costs Cost() reads once, counted in no query.
//
// Safe for concurrent use if the atoms below it are.
type WarmStart struct {
	atoms    Arms
	sampling Sampling
	drawn    []int // the draws: coordinates, or positions of the shuffle
	column   map[int]int
	values   []float64 // column by column, one value for each atom that was read
	read     int       // atoms that were read: the length of a column
	which    []int     // the number in a column of each atom; nil if they are all that were read
}

// NewWarmStart draws the coordinates and reads them for all atoms. It retains atoms.
// coordinates is 1 to Dim().
func NewWarmStart(atoms Arms, coordinates int, sampling Sampling, seed uint64) (*WarmStart, error) {
	if err := checkArms(atoms); err != nil {
		return nil, err
	}
	if err := sampling.check(); err != nil {
		return nil, err
	}
	n, d := atoms.Len(), atoms.Dim()
	if coordinates < 1 || coordinates > d {
		return nil, fmt.Errorf("%w: %d coordinates, need 1 to %d", ErrWarmStart, coordinates, d)
	}
	w := &WarmStart{atoms: atoms, sampling: sampling, drawn: make([]int, coordinates), column: map[int]int{}, read: n}
	rng := rand.New(philox.New(seed, streamWarmStart))
	shuffled := newShuffled(d, nil)
	all := allArms(n)
	for s := range w.drawn {
		j := 0
		if sampling == WithoutReplacement {
			w.drawn[s] = s + rng.IntN(d-s)
			j = shuffled.takeAt(w.drawn[s])
		} else {
			j = rng.IntN(d)
			w.drawn[s] = j
		}
		if _, ok := w.column[j]; ok {
			continue
		}
		at := len(w.values)
		w.column[j] = at
		w.values = append(w.values, make([]float64, n)...)
		atoms.Pull(j, all, w.values[at:])
	}
	return w, nil
}

// Of returns the warm start for some of the atoms, with the same draws and what was read: atom p of
// atoms is atom which[p] of w. It retains both. It fails with ErrWarmStart if they do not agree in number
// or dimension, or name an atom that w lacks.
func (w *WarmStart) Of(atoms Arms, which []int) (*WarmStart, error) {
	if err := checkArms(atoms); err != nil {
		return nil, err
	}
	if atoms.Len() != len(which) || atoms.Dim() != w.Dim() {
		return nil, fmt.Errorf("%w: %d atoms of dimension %d for %d numbers and dimension %d", ErrWarmStart, atoms.Len(), atoms.Dim(), len(which), w.Dim())
	}
	for p, i := range which {
		if i < 0 || i >= w.Len() {
			return nil, fmt.Errorf("%w: atom %d is number %d of %d", ErrWarmStart, p, i, w.Len())
		}
	}
	some := *w
	some.atoms, some.which = atoms, which
	if w.which != nil {
		some.which = make([]int, len(which))
		for p, i := range which {
			some.which[p] = w.which[i]
		}
	}
	return &some, nil
}

func (w *WarmStart) Len() int { return w.atoms.Len() }
func (w *WarmStart) Dim() int { return w.atoms.Dim() }

// Coordinates is the number of draws a query begins with.
func (w *WarmStart) Coordinates() int { return len(w.drawn) }

// Cost is the number of atom coordinates read to fill the cache, also of those atoms that Of left out.
func (w *WarmStart) Cost() int64 { return int64(len(w.values)) }

// Pull reads coordinate j of the listed atoms, from the cache if it is there.
func (w *WarmStart) Pull(j int, arms []int, dst []float64) {
	at, ok := w.column[j]
	if !ok {
		w.atoms.Pull(j, arms, dst)
		return
	}
	column := w.values[at : at+w.read]
	if w.which == nil {
		for p, i := range arms {
			dst[p] = column[i]
		}
		return
	}
	for p, i := range arms {
		dst[p] = column[w.which[i]]
	}
}

// newStream returns the cached draws followed by new ones.
func (w *WarmStart) newStream(rng *rand.Rand) coordinateStream {
	warm := &warmCoordinates{places: w.drawn, d: w.Dim(), rng: rng}
	if w.sampling == WithoutReplacement {
		warm.shuffled = newShuffled(w.Dim(), rng)
	}
	return warm
}

type warmCoordinates struct {
	places   []int
	at       int
	d        int
	rng      *rand.Rand
	shuffled *shuffledCoordinates // nil: with replacement
}

func (c *warmCoordinates) next() (int, float64) {
	cached := c.at < len(c.places)
	if !cached && c.shuffled != nil {
		return c.shuffled.next()
	}
	if !cached {
		return c.rng.IntN(c.d), 1
	}
	place := c.places[c.at]
	c.at++
	if c.shuffled != nil {
		return c.shuffled.takeAt(place), 1
	}
	return place, 1
}

// served counts the pulls of a run that began with the cached coordinates: n
// arms until the first round, then each round's survivors until the next.
func (w *WarmStart) served(n int, rounds []RoundTally) int64 {
	if w == nil {
		return 0
	}
	pulls, from, arms := int64(0), 0, n
	for _, r := range rounds {
		to := min(r.Coordinates, len(w.drawn))
		pulls += int64(max(to-from, 0)) * int64(arms)
		from, arms = max(to, from), r.Survivors
	}
	return pulls
}
