package cpu

import (
	"context"
	"thresher/backend"
)

type slab struct{}

func (l *slab) open(s *state) (int, float64)                   { return 0, 0 }
func (l *slab) release(s *state)                               {}
func (x *run) slabs(ctx context.Context, l backend.Look) error { return nil }
