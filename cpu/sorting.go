package cpu

import (
	"cmp"
	"math/bits"
	"slices"

	"thresher/bandit"
)

// sorting is memory for sorting scored atoms best first. Its zero value is ready for use.
type sorting struct{ sorted, arms []scored }

const (
	// fewScored is the number of atoms up to which insertion sorts them.
	fewScored = 32
	// mostDigit is the logarithm of the greatest number of buckets of a pass, whose ends in
	// memory fit the first-level cache.
	mostDigit = 10
)

// sort sorts a best first, by radix: each pass divides the atoms into buckets by their keys'
// leading digit, of about as many values as there are atoms.
func (s *sorting) sort(a []scored) {
	s.sorted = grow(s.sorted, len(a))
	s.sortInto(a, s.sorted)
}

// sortInto sorts a; tmp is as long, and its content is undefined.
func (s *sorting) sortInto(a, tmp []scored) {
	if len(a) <= fewScored {
		insert(a)
		return
	}
	least, greatest := ^uint64(0), uint64(0)
	for i := range a {
		key := bandit.OrderedKey(a[i].score)
		least, greatest = min(least, key), max(greatest, key)
	}
	if least == greatest {
		slices.SortFunc(a, func(x, y scored) int { return cmp.Compare(x.row, y.row) })
		return
	}
	digit := min(bits.Len(uint(len(a)))-1, mostDigit)
	shift := max(0, bits.Len64(greatest-least)-digit) & 63
	var ends [1 << mostDigit]int32
	for i := range a {
		ends[(greatest-bandit.OrderedKey(a[i].score))>>shift&(1<<mostDigit-1)]++
	}
	buckets := int((greatest-least)>>shift) + 1
	var sum int32
	for b, n := range ends[:buckets] {
		ends[b] = sum
		sum += n
	}
	for i := range a {
		end := &ends[(greatest-bandit.OrderedKey(a[i].score))>>shift&(1<<mostDigit-1)]
		tmp[*end] = a[i]
		*end++
	}
	copy(a, tmp)
	var begin int32
	for _, end := range ends[:buckets] {
		if end-begin > 1 {
			s.sortInto(a[begin:end], tmp[begin:end])
		}
		begin = end
	}
}

// insert sorts a few atoms.
func insert(a []scored) {
	for i := 1; i < len(a); i++ {
		x, k := a[i], i
		for ; k > 0 && ranksBefore(x, a[k-1]); k-- {
			a[k] = a[k-1]
		}
		a[k] = x
	}
}

// sortArms sorts arms by descending bound, then by ascending index.
func (s *sorting) sortArms(arms []arm) {
	if len(arms) <= fewScored {
		slices.SortFunc(arms, byBound)
		return
	}
	s.arms = grow(s.arms, len(arms))
	for k, a := range arms {
		s.arms[k] = scored{a.bound, a.i}
	}
	s.sort(s.arms)
	for k, a := range s.arms {
		arms[k] = arm{bound: a.score, i: a.row}
	}
}
