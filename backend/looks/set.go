package looks

import (
	"context"
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
	strips map[termsKey][]Strip
	sides  map[termsKey][]Side
	signs  *collection.SignTerms // of deterministic looks; nil until there is one
	panels map[int]*signPanels   // of each width that a look has asked for
	reach  map[float64]float64   // bandit.Reach by alpha, the same for looks at every stage
}

// termsKey identifies the terms of a look.
type termsKey struct {
	stage int
	kind  Kind
	signs bool // of panels of signs
}

// NewSet returns an empty Set; c must outlive it.
func NewSet(c *collection.Collection) *Set {
	return &Set{c: c, looks: map[backend.Look]*Compiled{}, strips: map[termsKey][]Strip{}, sides: map[termsKey][]Side{},
		panels: map[int]*signPanels{}, reach: map[float64]float64{}}
}

// Compile compiles look l, with strips if it is at panels. It fails with
// backend.ErrRuleUnsupported if the collection's codes do not support l. Panels of signs take some tenths of a microsecond for
// each atom to make, which ctx can end; what is made by then is kept. The caller owns the result, except for its slices, which
// are read only.
func (s *Set) Compile(ctx context.Context, l backend.Look) (*Compiled, error) {
	// the key has only what bounds depend on
	key := backend.Look{Rep: l.Rep, Rule: l.Rule, From: l.From, To: l.To, Alpha: l.Alpha}
	signs, err := s.signsOf(ctx, l)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.looks[key]
	if !ok {
		if kept, err = s.compile(key, signs); err != nil {
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
	key := termsKey{t.Stage, t.Kind, t.Signs != nil}
	if s.strips[key] == nil {
		s.strips[key] = t.strips(s.c.N)
	}
	return s.strips[key]
}

// signTerms returns the terms of deterministic looks at signs. s.mu is held.
func (s *Set) signTerms() *collection.SignTerms {
	if s.signs == nil {
		t := s.c.SignTerms()
		s.signs = &t
	}
	return s.signs
}

// LayOut sets t.Sides, which are cached for all looks of t's Kind at the stage, if t reads rows and is no Cauchy look at a prefix.
func (s *Set) LayOut(t *Compiled) {
	if !contiguous(t.QueryCodes, t.Kind) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := termsKey{t.Stage, t.Kind, false}
	if s.sides[key] == nil {
		all := make([]Side, s.c.N)
		for i := range all {
			all[i] = t.Side(i)
		}
		s.sides[key] = all
	}
	t.Sides = s.sides[key]
}
