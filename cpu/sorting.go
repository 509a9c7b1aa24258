package cpu

import (
	"cmp"
	"math/bits"
	"slices"

	"thresher/bandit"
	"thresher/simd"
)

// sorting is memory for sorting scored atoms best first. Its zero value is ready for use.
type sorting struct {
	kern         simd.Kernels
	keys         [simd.MostKeys]uint64
	sorted, arms []scored
}

const (
	// fewScored is the number of atoms up to which insertion sorts them; leastKeys the same if there is a
	// kernel that sorts keys.
	fewScored, leastKeys = 32, 12
	// mostDigit is the logarithm of the greatest number of values of a digit. The counts of two digits
	// fit the first-level cache.
	mostDigit = 10
)

// sort sorts a best first.
func (s *sorting) sort(a []scored) {
	if inOrder(a) { // a dense scan sorts what it found to drop all but the k best
		return
	}
	s.sorted = grow(s.sorted, len(a))
	s.sortInto(a, s.sorted)
}

// sortByKeys sorts a few atoms by a kernel: their keys, whose last bits are replaced by the atoms' places
// in a. Then insertion orders those whose keys agree in the others. tmp is as long as a.
func (s *sorting) sortByKeys(a, tmp []scored) {
	const places = simd.MostKeys - 1
	keys := &s.keys
	for i := range a {
		keys[i&places] = ^bandit.OrderedKey(a[i].score)&^places | uint64(i)
	}
	s.kern.SortKeys(keys, len(a))
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
func (s *sorting) sortInto(a, tmp []scored) {
	if len(a) >= leastKeys && len(a) <= simd.MostKeys && s.kern.SortsKeys() {
		s.sortByKeys(a, tmp)
		return
	}
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
	digit := min(bits.Len(uint(len(a))), mostDigit)
	low := max(0, bits.Len64(greatest-least)-2*digit) & 63
	high := (low + digit) & 63
	mask := uint64(1)<<digit - 1
	var lows, highs [1 << mostDigit]int32
	for i := range a {
		key := greatest - bandit.OrderedKey(a[i].score)
		lows[key>>low&mask&(1<<mostDigit-1)]++
		highs[key>>high&(1<<mostDigit-1)]++
	}
	var lowSum, highSum int32
	for d := range 1 << digit {
		lowSum, lows[d] = lowSum+lows[d], lowSum
		highSum, highs[d] = highSum+highs[d], highSum
	}
	for i := range a {
		end := &lows[(greatest-bandit.OrderedKey(a[i].score))>>low&mask&(1<<mostDigit-1)]
		tmp[*end] = a[i]
		*end++
	}
	for i := range tmp {
		end := &highs[(greatest-bandit.OrderedKey(tmp[i].score))>>high&(1<<mostDigit-1)]
		a[*end] = tmp[i]
		*end++
	}
	begin, digits := 0, ^uint64(0)
	for i := range a {
		if at := (greatest - bandit.OrderedKey(a[i].score)) >> low; at != digits {
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
func inOrder(a []scored) bool {
	for i := 1; i < len(a); i++ {
		if ranksBefore(a[i], a[i-1]) {
			return false
		}
	}
	return true
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

// moveReaching moves the arms whose bound is at least least before the others and returns how many they are. bounds
// are those of all arms.
func moveReaching(arms []arm, bounds []float32, least float32) int {
	at, below := 0, int64(floatKey(least))-1
	for k, b := range bounds {
		// Without a branch, which would be mispredicted for every other arm.
		reaches := int((below - int64(floatKey(b))) >> 63) // -1 if it does, else 0
		to := k + (at-k)&reaches
		arms[to], arms[k] = arms[k], arms[to]
		at -= reaches
	}
	return at
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
