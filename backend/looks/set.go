package looks

import (
	"sync"

	"thresher/backend"
	"thresher/bandit"
	"thresher/collection"
)

// setMost bounds the looks that a Set keeps.
const setMost = 256

// Set compiles looks for one collection and caches them. It is safe for concurrent use.
type Set struct {
	c      *collection.Collection
	mu     sync.Mutex
	looks  map[backend.Look]*Compiled
	strips map[stripsKey][]Strip
	sides  [][]Side            // by stage
	reach  map[float64]float64 // bandit.Reach by alpha, the same for looks at every stage
}

// stripsKey identifies the strips of a look.
type stripsKey struct {
	stage int
	kind  Kind
}

// NewSet returns an empty Set; c must outlive it.
func NewSet(c *collection.Collection) *Set {
	return &Set{c: c, looks: map[backend.Look]*Compiled{}, strips: map[stripsKey][]Strip{}, sides: make([][]Side, len(c.Stages)),
		reach: map[float64]float64{}}
}

// Compile compiles look l, with strips if it is at panels. It fails with
// backend.ErrRuleUnsupported if the collection's codes do not support l. The caller owns the
// result, except for its slices, which are read only.
func (s *Set) Compile(l backend.Look) (*Compiled, error) {
	// the key has only what bounds depend on
	key := backend.Look{Rep: l.Rep, Rule: l.Rule, From: l.From, To: l.To, Alpha: l.Alpha}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.looks[key]
	if !ok {
		var err error
		if kept, err = s.compile(key); err != nil {
			return nil, err
		}
		if kept.QueryCodes == Codes8 {
			kept.Strips = s.stripsOf(kept)
		}
		if len(s.looks) >= setMost {
			clear(s.looks)
			clear(s.reach)
		}
		s.looks[key] = kept
	}
	t := *kept
	t.Look = l
	return &t, nil
}

// reachOf returns how many radii alpha costs. s.mu is held.
func (s *Set) reachOf(alpha float64) float64 {
	r, ok := s.reach[alpha]
	if !ok {
		r = bandit.Reach(alpha, s.c.Kappa, s.c.D)
		s.reach[alpha] = r
	}
	return r
}

// stripsOf returns the strips of a look. s.mu is held.
func (s *Set) stripsOf(t *Compiled) []Strip {
	key := stripsKey{t.Stage, t.Kind}
	if s.strips[key] == nil {
		s.strips[key] = t.strips(s.c.N)
	}
	return s.strips[key]
}

// LayOut sets t.Sides, which are cached for all looks at the stage. t's Kind is not Cauchy,
// whose terms differ from those of the stage's other looks.
func (s *Set) LayOut(t *Compiled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sides[t.Stage] == nil {
		all := make([]Side, s.c.N)
		for i := range all {
			all[i] = t.Side(i)
		}
		s.sides[t.Stage] = all
	}
	t.Sides = s.sides[t.Stage]
}
