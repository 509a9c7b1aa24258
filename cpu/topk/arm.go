package topk

import (
	"slices"
)

// byBound orders arms by descending bound, then by ascending index.
func byBound(a, b Arm) int {
	switch {
	case a.Bound > b.Bound:
		return -1
	case a.Bound < b.Bound:
		return 1
	}
	return int(a.ID) - int(b.ID)
}

// MoveReaching moves the arms whose bound is at least least before the others and returns how many they are. bounds
// are those of all arms.
func MoveReaching(arms []Arm, bounds []float32, least float32) int {
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

// SortArms sorts arms by descending bound, then by ascending index.
func (s *Sorter) SortArms(arms []Arm) {
	if len(arms) <= fewScored {
		slices.SortFunc(arms, byBound)
		return
	}
	s.arms = Grow(s.arms, len(arms))
	for k, a := range arms {
		s.arms[k] = Scored{a.Bound, a.ID}
	}
	s.Sort(s.arms)
	for k, a := range s.arms {
		arms[k] = Arm{Bound: a.Score, ID: a.Row}
	}
}

// Arm is a survivor whose whole row of codes was read: an atom by internal index and an
// upper bound that cannot fail, in the query's scaled units.
type Arm struct {
	Bound float64
	ID    uint32
}
