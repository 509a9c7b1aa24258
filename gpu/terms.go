//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"

	"thresher/backend"
	"thresher/bandit"
	"thresher/collection"
)

// Roundings, as in kernels/types.cuh.
const (
	up   = 1 + 1e-9
	slop = 12.0 / (1 << 24)
)

// How a look bounds what it has not read, and by which codes of a query it goes:
// parameters of the kernel look_factors.
const (
	ruleWhole = iota
	ruleStudent
	ruleCauchy
)

const (
	codes8      = iota // panels
	codes16            // rows
	codesHalves        // signs
)

// reachesKept is of how many failure probabilities the reach is kept.
const reachesKept = 256

// look is a backend.Look made ready for a collection: what of it does not depend
// on the query.
type look struct {
	backend.Look
	level  int
	rule   int
	codes  int
	reach  float64 // of Student
	random bool    // its bound can fail
	width  int     // codes an atom is looked at with; eight signs count as one
	// table is one Terms, for the kernels.
	table *Buffer[terms]
}

// levelTerms are a level's terms of all atoms on the device.
type levelTerms struct{ scale, radius, xnorm, beyond *Buffer[float32] }

// termsKey is what a look's table depends on, the reach aside.
type termsKey struct {
	panels bool
	level  int
	rule   int
}

// stripKey is what strips depend on.
type stripKey struct{ level, rule int }

// look checks l and puts its terms on the device, where they stay for other
// batches.
func (r *resident) look(ctx context.Context, q *queue, l backend.Look) (*look, error) {
	k, err := r.check(l)
	if err != nil {
		return nil, err
	}
	key := termsKey{l.Rep == backend.Panels, k.level, k.rule}
	if k.table = r.looks[key]; k.table != nil {
		return k, nil
	}
	table, err := r.table(ctx, q, k)
	if err != nil {
		return nil, err
	}
	if k.table, err = put(ctx, q.t, &r.stores, "tables of terms", []terms{table}); err != nil {
		return nil, err
	}
	r.looks[key] = k.table
	return k, nil
}

// check says how look l is taken, or why it is not.
func (r *resident) check(l backend.Look) (*look, error) {
	c := r.c
	switch {
	case l.Rep > backend.Signs || l.Rep == backend.Float32:
		return nil, fmt.Errorf("representation %d on a GPU: %w", l.Rep, backend.ErrRuleUnsupported)
	case !c.Coded():
		return nil, fmt.Errorf("codes of a collection that has none: %w", backend.ErrRuleUnsupported)
	case l.Rule != backend.Student && l.Rule != backend.Cauchy:
		return nil, fmt.Errorf("rule %d on codes: %w", l.Rule, backend.ErrRuleUnsupported)
	case l.Rep == backend.Panels && c.R+l.To > maxScanLook || c.R+l.To > maxRowLook:
		return nil, fmt.Errorf("a look of width %d: %w", l.To, backend.ErrRuleUnsupported)
	}
	k := &look{Look: l, level: c.Level(l.To), codes: codes16, width: c.R + l.To}
	if l.Rep == backend.Signs {
		k.level, k.codes, k.width = c.SignLevel(), codesHalves, c.R+l.To/8
		if k.level < 0 || l.Rule != backend.Student {
			return nil, fmt.Errorf("rule %d on signs: %w", l.Rule, backend.ErrRuleUnsupported)
		}
	}
	if k.level < 0 || l.From != 0 || l.To != c.Levels[k.level].Width {
		return nil, fmt.Errorf("look at coordinates %d to %d: no such codes are kept", l.From, l.To)
	}
	if l.Rep == backend.Panels {
		k.codes = codes8
	}
	switch {
	case k.level == len(c.Levels)-1:
		k.rule = ruleWhole
	case l.Rule == backend.Student:
		k.rule, k.random, k.reach = ruleStudent, true, r.reach(l.Alpha)
	default:
		k.rule = ruleCauchy
	}
	return k, nil
}

// reach is bandit.Reach of the collection, which takes tens of microseconds to find;
// searches ask for the same again and again.
func (r *resident) reach(alpha float64) float64 {
	l, ok := r.reaches[alpha]
	if !ok {
		if len(r.reaches) == reachesKept {
			clear(r.reaches)
		}
		l = bandit.Reach(alpha, r.c.Kappa, r.c.D)
		r.reaches[alpha] = l
	}
	return l
}

// table is the Terms of a look.
func (r *resident) table(ctx context.Context, q *queue, k *look) (terms, error) {
	last := len(r.c.Levels) - 1
	at, err := r.levelTerms(ctx, q.t, k.level)
	if err != nil {
		return terms{}, err
	}
	whole := at
	if k.rule == ruleCauchy {
		if whole, err = r.levelTerms(ctx, q.t, last); err != nil {
			return terms{}, err
		}
	}
	var out terms
	for _, a := range []struct {
		to *uint64
		b  *Buffer[float32]
	}{
		{&out.headScale, r.headScale}, {&out.headNorm, r.headNorm}, {&out.headErr, r.headErr}, {&out.norm, r.norm}, {&out.offset, r.offset},
		{&out.scale, whole.scale}, {&out.xnorm, whole.xnorm},
	} {
		*a.to = pointer(a.b)
	}
	switch k.rule {
	case ruleStudent:
		out.radius = pointer(at.radius)
	case ruleCauchy: // within the prefix by the whole code's error
		out.radius, out.wholeErr = pointer(at.beyond), pointer(whole.beyond)
	default:
		out.radius = pointer(at.beyond)
	}
	if k.codes == codes8 {
		strips, err := r.stripsOf(ctx, q.t, k)
		out.strips = pointer(strips)
		return out, err
	}
	sides, err := r.sides(q, &out)
	out.side = pointer(sides)
	return out, err
}

// levelTerms puts a level's terms on the device at its first use.
func (r *resident) levelTerms(ctx context.Context, t *Thread, level int) (levelTerms, error) {
	l, k := &r.c.Levels[level], &r.levels[level]
	if k.scale != nil {
		return *k, nil
	}
	var made levelTerms
	mark := len(r.stores.held)
	for _, a := range []struct {
		to  **Buffer[float32]
		src []float32
	}{{&made.radius, l.Radius}, {&made.xnorm, l.XNorm}, {&made.beyond, l.Beyond}, {&made.scale, l.Scale}} {
		var err error
		if *a.to, err = r.putTerms(ctx, t, a.src); err != nil {
			return levelTerms{}, errors.Join(err, r.stores.freeFrom(t, mark))
		}
	}
	*k = made
	return made, nil
}

// sides lays the terms of each atom side by side, by a kernel. With too little
// memory looks read the arrays themselves, and there is nothing to return.
func (r *resident) sides(q *queue, of *terms) (*Buffer[side], error) {
	if u := q.t.d.Usage(); u.Used-q.p.pool.bytes()+int64(r.atoms)*size[side]()+r.stores.spare > u.Budget {
		return nil, nil
	}
	mark := len(r.stores.held)
	table, err := put(context.Background(), q.t, &r.stores, "tables of terms", []terms{*of})
	if err != nil {
		return nil, err
	}
	b, err := onDevice[side](q.t, &r.stores, "terms side by side", r.atoms)
	if err == nil {
		q.launch("sides", Shape{Grid: Dim{X: blocks(r.atoms, 256)}, Block: Dim{X: 256}}, Ptr(table), Ptr(b), U32(uint32(r.atoms)))
		err = q.sync()
	}
	if err != nil {
		return nil, errors.Join(err, r.stores.freeFrom(q.t, mark))
	}
	return b, nil
}

// stripsOf puts the strips of a look at panels on the device, at the first look of
// its kind.
func (r *resident) stripsOf(ctx context.Context, t *Thread, k *look) (*Buffer[strip], error) {
	key := stripKey{k.level, k.rule}
	if b := r.strips[key]; b != nil {
		return b, nil
	}
	b, err := put(ctx, t, &r.stores, "strips", makeStrips(r.c, k))
	if err != nil {
		return nil, err
	}
	r.strips[key] = b
	return b, nil
}

// makeStrips takes the greatest terms of every stripAtoms atoms, as a look at
// panels needs them.
func makeStrips(c *collection.Collection, k *look) []strip {
	at, whole := &c.Levels[k.level], &c.Levels[len(c.Levels)-1]
	radius, xnorm, wholeErr := at.Beyond, at.XNorm, []float32(nil)
	switch k.rule {
	case ruleStudent:
		radius = at.Radius
	case ruleCauchy:
		xnorm, wholeErr = whole.XNorm, whole.Beyond
	}
	out := make([]strip, (c.N+stripAtoms-1)/stripAtoms)
	for i := range out {
		lo, hi := i*stripAtoms, min((i+1)*stripAtoms, c.N)
		s := &out[i]
		var sum float64
		for j := lo; j < hi; j++ {
			s.headNorm, s.headErr = max(s.headNorm, c.HeadNorm[j]), max(s.headErr, c.HeadErr[j])
			s.xnorm, s.norm, s.radius = max(s.xnorm, xnorm[j]), max(s.norm, c.Norm[j]), max(s.radius, radius[j])
			if c.Offset != nil { // never positive
				s.offset = max(s.offset, -c.Offset[j])
			}
			if wholeErr != nil {
				s.wholeErr = max(s.wholeErr, wholeErr[j])
			}
			sum += float64(radius[j])
		}
		s.meanRadius = float32(sum / float64(hi-lo))
	}
	return out
}

// pointer is a buffer's device address, 0 for none.
func pointer[T any](b *Buffer[T]) uint64 {
	if b == nil {
		return 0
	}
	return uint64(b.ptr)
}

// blocks is how many blocks of size work on n things.
func blocks(n, size int) int { return (n + size - 1) / size }
