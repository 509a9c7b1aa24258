package looks

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// endingContext ends when it has been asked so many times.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestSignPanelsInTurns: making panels ends with its context and goes on where it ended, one search at a time, while looks at
// other codes are compiled.
func TestSignPanelsInTurns(t *testing.T) {
	const n, dim, width = 3 * signChunk * collection.PanelAtoms, 192, 128
	c, err := collection.Build(t.Context(), vectors.PowerLaw(vectors.Rand(3), n, dim), dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := NewSet(c)
	look := backend.Look{Rep: backend.SignPanels, Rule: backend.Student, To: width, Alpha: 1e-3}
	for turn := range 2 {
		if _, err := s.Compile(&endingContext{t.Context(), 1}, look); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v of a context that ends", err)
		}
		if p := s.panels[width]; p == nil || p.filled != (turn+1)*signChunk {
			t.Fatalf("turn %d: %d panels are made, %d at a time", turn, p.filled, signChunk)
		}
	}
	p := s.panels[width]
	p.turn <- struct{}{} // another search makes them
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := s.Compile(ended, look); !errors.Is(err, context.Canceled) {
		t.Errorf("%v of a context that ends while another search makes panels", err)
	}
	if _, err := s.Compile(t.Context(), backend.Look{Rep: backend.Panels, Rule: backend.Student, To: c.Stages[0].Width, Alpha: 1e-3}); err != nil {
		t.Error(err)
	}
	<-p.turn
	for range 2 {
		l, err := s.Compile(t.Context(), look)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.SignPanels(width), l.Signs); diff != "" {
			t.Fatalf("other panels: %.400s", diff)
		}
	}
	if held := int64(len(p.made.Panels) + 4*(len(p.made.Scale)+len(p.made.Radius)+len(p.made.XNorm))); held != c.SignPanelsSize(width) {
		t.Errorf("%d bytes held, %d stated", held, c.SignPanelsSize(width))
	}
}
