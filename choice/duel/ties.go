package duel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// maxPairs bounds the pairs of which ties, and the pairs of judges of which verdicts, are
// kept.
const maxPairs = 1 << 16

// maxShown bounds the pairs in a report.
const maxShown = 10

// ties counts the results that were told and that a coin settled because the judge found
// neither arm better. If p counts half of a tie, the coin leaves p as it is: an arm is
// preferred with some probability x, ties with y, and wins with x + y/2 = p.
type ties struct {
	all      int64
	arms     []int64        // of each arm, nil without ties
	pairs    map[pair]int64 // the lesser arm first
	unlisted int64          // of pairs beyond maxPairs
}

func (t *ties) count(e *pendingDuel, k int) {
	if !e.Tie || e.A == e.B {
		return
	}
	if t.arms == nil {
		t.arms, t.pairs = make([]int64, k), map[pair]int64{}
	}
	t.all++
	t.arms[e.A]++
	t.arms[e.B]++
	p := pair{min(e.A, e.B), max(e.A, e.B)}
	if _, there := t.pairs[p]; !there && len(t.pairs) >= maxPairs {
		t.unlisted++
		return
	}
	t.pairs[p]++
}

// savedTies is the serialised form of ties: of each arm, and of pairs of arms a < b.
type savedTies struct {
	Arms     []int64    `json:"arms"`
	Pairs    [][3]int64 `json:"pairs"` // a, b, ties
	Unlisted int64      `json:"unlisted,omitempty"`
}

func (t *ties) save() *savedTies {
	if t.all == 0 {
		return nil
	}
	s := &savedTies{Arms: t.arms, Unlisted: t.unlisted}
	for _, p := range slices.SortedFunc(maps.Keys(t.pairs), comparePairs) {
		s.Pairs = append(s.Pairs, [3]int64{int64(p.a), int64(p.b), t.pairs[p]})
	}
	return s
}

// load rejects counts that save never writes, of k arms and told duels.
func (s *savedTies) load(k int, told int64) (t ties, err error) {
	if s == nil {
		return t, nil
	}
	bad := func() (ties, error) {
		return ties{}, fmt.Errorf("ties of %d arms and %d pairs do not fit %d duels of %d arms", len(s.Arms), len(s.Pairs), told, k)
	}
	if len(s.Arms) != k || len(s.Pairs) > maxPairs || s.Unlisted < 0 || s.Unlisted > told {
		return bad()
	}
	t = ties{all: s.Unlisted, arms: slices.Clone(s.Arms), pairs: make(map[pair]int64, len(s.Pairs)), unlisted: s.Unlisted}
	sum := -2 * s.Unlisted
	for _, n := range s.Arms {
		if n < 0 || n > told {
			return bad()
		}
		sum += n
	}
	for _, x := range s.Pairs {
		p, ok := savedPair(x[0], x[1], k)
		if _, twice := t.pairs[p]; !ok || twice || x[2] < 1 || x[2] > told-t.all {
			return bad()
		}
		t.pairs[p] = x[2]
		t.all += x[2]
		sum -= 2 * x[2]
	}
	if sum != 0 || t.all == 0 || t.all > told {
		return bad()
	}
	return t, nil
}

// savedPair returns the pair of arms a < b below k.
func savedPair(a, b int64, k int) (pair, bool) {
	return pair{int(a), int(b)}, 0 <= a && a < b && b < int64(k)
}

func comparePairs(p, q pair) int { return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b)) }

// PairTies counts the ties of arms A < B.
type PairTies struct {
	A    int   `json:"a"`
	B    int   `json:"b"`
	Ties int64 `json:"ties"`
}

// Ties returns the number of ties of each arm, nil if there were none, and the pairs with the
// most of them: at most ten, of the first 65,536 pairs that had one.
func (t *Tournament) Ties() (arms []int64, pairs []PairTies) {
	for p, n := range t.ties.pairs {
		pairs = append(pairs, PairTies{p.a, p.b, n})
	}
	slices.SortFunc(pairs, func(x, y PairTies) int {
		return cmp.Or(cmp.Compare(y.Ties, x.Ties), comparePairs(pair{x.A, x.B}, pair{y.A, y.B}))
	})
	return slices.Clone(t.ties.arms), pairs[:min(len(pairs), maxShown)]
}
