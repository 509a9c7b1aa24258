package topk

import (
	"cmp"
	"math/bits"
	"slices"

	"thresher/bandit"
	"thresher/simd"
)

// Sorter is memory for sorting scored atoms best first. Its zero value is ready for use.
type Sorter struct {
	Kern         simd.Kernels
	keys         [simd.MaxKeys]uint64
	sorted, arms []Scored
	merged       []Scored
}

const (
	// fewScored is the number of atoms up to which insertion sorts them; minKeys the same if there is a
	// kernel that sorts keys.
	fewScored, minKeys = 32, 12
	// maxDigits is the logarithm of the greatest number of values of a digit. The counts of two digits
	// fit the first-level cache.
	maxDigits = 10
)

// Sort sorts a best first.
func (s *Sorter) Sort(a []Scored) {
	if inOrder(a) { // a dense scan sorts what it found to drop all but the k best
		return
	}
	s.sorted = Grow(s.sorted, len(a))
	s.sortInto(a, s.sorted)
}

// merge sorts a, whose first n are sorted, without those of the others that rank behind them: as many of a are left undefined at its end.
func (s *Sorter) merge(a []Scored, n int) {
	more := a[n:]
	kept := 0
	for _, x := range more {
		if ranksBefore(x, a[n-1]) {
			more[kept] = x
			kept++
		}
	}
	if kept == 0 {
		return
	}
	s.merged = append(s.merged[:0], more[:kept]...)
	s.Sort(s.merged)
	at := n - 1 // from behind; as many of the first n as there are others fall out
	for to, k := n+kept-1, kept-1; k >= 0; to-- {
		if at >= 0 && ranksBefore(s.merged[k], a[at]) {
			a[to] = a[at]
			at--
		} else {
			a[to] = s.merged[k]
			k--
		}
	}
}

// sortByKeys sorts a few atoms by a kernel: their keys, whose last bits are replaced by the atoms' places
// in a. Then insertion orders those whose keys agree in the others. tmp is as long as a.
func (s *Sorter) sortByKeys(a, tmp []Scored) {
	const places = simd.MaxKeys - 1
	keys := &s.keys
	for i := range a {
		keys[i&places] = ^bandit.OrderedKey(a[i].Score)&^places | uint64(i)
	}
	s.Kern.SortKeys(keys, len(a))
	tied, before := false, ^uint64(0)
	for i := range tmp[:len(a)] {
		key := keys[i&places]
		tmp[i] = a[key&places]
		tied = tied || (key^before)&^places == 0
		before = key
	}
	copy(a, tmp)
	if tied {
		insert(a)
	}
}

// sortInto sorts a; tmp is as long, and its content is undefined. It sorts many atoms by radix by two
// digits, the leading bits in which the keys differ, of about as many values each as there are
// atoms; then those that agree in both.
func (s *Sorter) sortInto(a, tmp []Scored) {
	if len(a) >= minKeys && len(a) <= simd.MaxKeys && s.Kern.SortsKeys() {
		s.sortByKeys(a, tmp)
		return
	}
	if len(a) <= fewScored {
		insert(a)
		return
	}
	least, greatest := ^uint64(0), uint64(0)
	for i := range a {
		key := bandit.OrderedKey(a[i].Score)
		least, greatest = min(least, key), max(greatest, key)
	}
	if least == greatest {
		slices.SortFunc(a, func(x, y Scored) int { return cmp.Compare(x.Row, y.Row) })
		return
	}
	digit := min(bits.Len(uint(len(a))), maxDigits)
	low := max(0, bits.Len64(greatest-least)-2*digit) & 63
	high := (low + digit) & 63
	mask := uint64(1)<<digit - 1
	var lows, highs [1 << maxDigits]int32
	for i := range a {
		key := greatest - bandit.OrderedKey(a[i].Score)
		lows[key>>low&mask&(1<<maxDigits-1)]++
		highs[key>>high&(1<<maxDigits-1)]++
	}
	var lowSum, highSum int32
	for d := range 1 << digit {
		lowSum, lows[d] = lowSum+lows[d], lowSum
		highSum, highs[d] = highSum+highs[d], highSum
	}
	for i := range a {
		end := &lows[(greatest-bandit.OrderedKey(a[i].Score))>>low&mask&(1<<maxDigits-1)]
		tmp[*end] = a[i]
		*end++
	}
	for i := range tmp {
		end := &highs[(greatest-bandit.OrderedKey(tmp[i].Score))>>high&(1<<maxDigits-1)]
		a[*end] = tmp[i]
		*end++
	}
	begin, digits := 0, ^uint64(0)
	for i := range a {
		if at := (greatest - bandit.OrderedKey(a[i].Score)) >> low; at != digits {
			if i-begin > 1 {
				s.sortInto(a[begin:i], tmp[begin:i])
			}
			begin, digits = i, at
		}
	}
	if len(a)-begin > 1 {
		s.sortInto(a[begin:], tmp[begin:])
	}
}

// inOrder reports whether a is sorted best first.
func inOrder(a []Scored) bool {
	for i := 1; i < len(a); i++ {
		if ranksBefore(a[i], a[i-1]) {
			return false
		}
	}
	return true
}

// insert sorts a few atoms.
func insert(a []Scored) {
	for i := 1; i < len(a); i++ {
		x, k := a[i], i
		for ; k > 0 && ranksBefore(x, a[k-1]); k-- {
			a[k] = a[k-1]
		}
		a[k] = x
	}
}
