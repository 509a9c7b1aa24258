package duel

import "math/bits"

// dominance is a partial order of k arms, transitively closed: arms are added above others,
// and whoever is above an arm is above all that the arm is above.
type dominance struct {
	k     int
	words int      // of a set of arms
	below []uint64 // [i*words..]: the arms below i
}

func newDominance(k int) *dominance {
	words := (k + 63) / 64
	return &dominance{k, words, make([]uint64, k*words)}
}

func (d *dominance) set(i int) []uint64 { return d.below[i*d.words : (i+1)*d.words] }

// above reports whether i is above j.
func (d *dominance) above(i, j int) bool { return d.below[i*d.words+j/64]>>(j%64)&1 == 1 }

// add puts i above j. It reports false, and changes nothing, if they have an order already.
func (d *dominance) add(i, j int) bool {
	if d.above(i, j) || d.above(j, i) {
		return false
	}
	under := d.set(j)
	for x := range d.k {
		if x != i && !d.above(x, i) {
			continue
		}
		over := d.set(x)
		for m, word := range under {
			over[m] |= word
		}
		over[j/64] |= 1 << (j % 64)
	}
	return true
}

// counts returns the number of arms above and below each arm.
func (d *dominance) counts() (above, below []int) {
	above, below = make([]int, d.k), make([]int, d.k)
	for i := range d.k {
		for m, word := range d.set(i) {
			below[i] += bits.OnesCount64(word)
			for ; word != 0; word &= word - 1 {
				above[m*64+bits.TrailingZeros64(word)]++
			}
		}
	}
	return above, below
}

// arrange returns the arms in an order that agrees with d and departs from the given one as
// little as possible: an arm moves before the first arm that it is above. Everything above
// it stands before that place already.
func (d *dominance) arrange(order []int) []int {
	sorted := make([]int, 0, len(order))
next:
	for _, x := range order {
		for at, y := range sorted {
			if d.above(x, y) {
				sorted = append(sorted, 0)
				copy(sorted[at+1:], sorted[at:])
				sorted[at] = x
				continue next
			}
		}
		sorted = append(sorted, x)
	}
	return sorted
}
