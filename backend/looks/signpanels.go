package looks

import (
	"context"

	"thresher/backend"
	"thresher/collection"
	"thresher/simd"
)

// signChunk is how many panels of signs are made between two checks of a context: some milliseconds.
const signChunk = 128

// signPanels are panels of signs of one width, while they are made and afterwards.
type signPanels struct {
	made   *collection.SignPanels
	turn   chan struct{} // of one: held by the search that makes them
	filled int           // the panels that are made; read and written by the holder of the turn
}

// signsOf returns the panels of signs that look l reads; nil if it reads none, or cannot be compiled. Of searches that need the
// same panels one makes them while the others wait; looks at anything else are compiled meanwhile. A search whose ctx ends
// leaves what it has made to the next.
func (s *Set) signsOf(ctx context.Context, l backend.Look) (*collection.SignPanels, error) {
	if l.Rep != backend.SignPanels || !s.c.Coded() || l.To > min(s.c.D, simd.MaxSignPanel) || l.Rep.Stage(s.c, l.To) < 0 || !l.Rep.Takes(l.Rule) {
		return nil, nil
	}
	s.mu.Lock()
	p := s.panels[l.To]
	if p == nil {
		p = &signPanels{made: s.c.NewSignPanels(l.To), turn: make(chan struct{}, 1)}
		s.panels[l.To] = p
	}
	s.mu.Unlock()
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-p.turn }()
	for p.filled < s.c.PanelCount() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		hi := min(p.filled+signChunk, s.c.PanelCount())
		s.c.FillSignPanels(p.made, p.filled, hi)
		p.filled = hi
	}
	return p.made, nil
}
