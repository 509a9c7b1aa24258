package cpu

import (
	"context"
	"fmt"
	"math"

	"thresher/backend"
)

// revisit takes a later look, row by row, at the survivors.
func (x *run) revisit(ctx context.Context, l backend.Look) error {
	if !x.c.Coded() {
		return fmt.Errorf("rows of codes: %w", backend.ErrRuleUnsupported)
	}
	reach := reach(x.c, l)
	return x.r.each(ctx, len(x.states), func(_ *scratch, j int) error {
		s := &x.states[j]
		if s.dense || s.toDense {
			return nil
		}
		b, err := s.newBound(l, reach, &s.rows)
		if err != nil {
			return err
		}
		return s.revisit(ctx, &b, x.raise.Source)
	})
}

func (s *state) revisit(ctx context.Context, b *bound, source backend.Source) error {
	if !s.listed { // no first look: everybody is a survivor
		for i := s.next * 64; i < s.c.N; i++ {
			if s.allows(i) {
				s.list = append(s.list, arm{bound: s.prep.Norm*float64(s.c.Norm[i])*up + s.offset(i) + slop*math.Abs(s.offset(i)), i: uint32(i)})
			}
		}
		s.listed = true
	}
	if n, _ := s.open(); n == 0 {
		return nil
	}
	seen, dropped, scored := 0, 0, 0
	kept := s.list[:0]
	for k, a := range s.list {
		if k%1024 == 1023 && ctx.Err() != nil {
			s.list = append(kept, s.list[k:]...) // these keep their bounds
			if b.random {
				s.random = s.random || dropped > 0
				s.owe()
			}
			s.account(b.width(s.c), seen)
			s.report(b.look, seen, len(s.list)+scored)
			return ctx.Err()
		}
		if a.bound < s.tau {
			continue
		}
		if a.whole { // its whole row was read before
			kept = append(kept, a)
			continue
		}
		seen++
		estimate, upper := b.row(s, int(a.i))
		if upper < s.tau {
			dropped++
			continue
		}
		a.bound = min(a.bound, upper)
		if s.goal.K > 0 && estimate >= s.tau {
			var more bool
			if a, more = s.lift(source, a); !more {
				scored++
				continue
			}
		}
		kept = append(kept, a)
	}
	s.list = kept
	s.prune()
	dropped += len(kept) - len(s.list)
	if b.random {
		s.random = s.random || dropped > 0
		s.owe()
	}
	s.account(b.width(s.c), seen)
	s.report(b.look, seen, len(s.list)+scored)
	return nil
}
