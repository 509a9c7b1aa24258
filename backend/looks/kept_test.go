package looks

import (
	"testing"
	"unsafe"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestKept: what is said to be kept is the memory of the slices that looks have made, and what is said beforehand is by how much they raise it.
func TestKept(t *testing.T) {
	const n, dim = 1500, 192
	c, err := collection.Build(t.Context(), vectors.PowerLaw(vectors.Rand(1), n, dim), dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := NewSet(c)
	first := c.Stages[0].Width
	for i, looks := range [][]backend.Look{
		{{Rep: backend.Panels, To: first, Rule: backend.Student, Alpha: 1e-3}, {Rep: backend.Panels, To: first, Rule: backend.Student, Alpha: 1e-4}},
		{{Rep: backend.RowCodes, To: c.D, Rule: backend.Cauchy}, {Rep: backend.RowCodes, To: first, Rule: backend.Cauchy}},
		{{Rep: backend.SignPanels, To: 2 * first, Rule: backend.Student, Alpha: 1e-3}},
		{{Rep: backend.Signs, To: c.D, Rule: backend.Student, Alpha: 1e-3}, {Rep: backend.Signs, To: c.D, Rule: backend.Cauchy}, {Rep: backend.Float32, To: first}},
	} {
		before, making := s.Kept(), s.Making(looks)
		for _, l := range looks {
			k, err := s.Compile(t.Context(), l)
			if err == nil {
				s.LayOut(k)
			}
		}
		if raised := s.Kept() - before; raised != making || i < 3 && making == 0 || s.Making(looks) != 0 {
			t.Errorf("%+v: %d bytes are kept, %d were said before, %d more are said now", looks, raised, making, s.Making(looks))
		}
	}
	var sides, strips, panels int64
	for _, x := range s.sides {
		sides += int64(cap(x)) * int64(unsafe.Sizeof(x[0]))
	}
	for _, x := range s.strips {
		strips += int64(cap(x)) * int64(unsafe.Sizeof(x[0]))
	}
	for _, p := range s.panels {
		panels += int64(len(p.made.Panels) + 4*(len(p.made.Scale)+len(p.made.Radius)+len(p.made.XNorm)))
	}
	terms := int64(0)
	if s.signs != nil {
		terms = 4 * int64(len(s.signs.Scale)+len(s.signs.Radius)+len(s.signs.XNorm))
	}
	if got, want := s.Kept(), sides+strips+panels+terms; got != want || sides == 0 || strips == 0 || panels == 0 {
		t.Errorf("%d bytes are said to be kept; sides take %d, strips %d, panels %d, terms %d", got, sides, strips, panels, terms)
	}
}
