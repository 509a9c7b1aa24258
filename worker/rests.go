package worker

import (
	"thresher/batch"
	"thresher/verify"
)

// rests returns the array of this name: what each value of rows of the collection's dimension lacks of the
// one given. It is nil if there is none.
func (h *hunt) rests(name string, rows int) ([]float32, error) {
	a, err := h.c.get(name, float32s)
	if a == nil || err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 || a.Shape[0] != int64(rows) || a.Shape[1] != int64(h.v.Dim) {
		return nil, wrong(name, "shape %v; [%d %d] is wanted", a.Shape, rows, h.v.Dim)
	}
	b, err := a.read()
	if err != nil {
		return nil, err
	}
	if !isAligned(b) {
		return nil, wrong(name, "offset %d: float32 begin at multiples of 4 bytes", a.Offset)
	}
	return elements[float32](b), nil
}

// given are the values that a client gave and float32 does not hold, for a verification.
type given struct {
	vectors, queries []float32 // rests; nil: the rounded ones are compared
}

func (h *hunt) given() (g given, err error) {
	if g.vectors, err = h.rests("vectors_rests", h.v.N); err == nil {
		g.queries, err = h.rests("queries_rests", h.m)
	}
	return g, err
}

// any reports whether anything is compared as it was given.
func (g *given) any() bool { return g.vectors != nil || g.queries != nil }

// compare makes o and the request compare the values given.
func (g *given) compare(o *verify.Oracle, req *batch.Request) error {
	if g.queries != nil {
		req.Queries64 = make([]float64, len(req.Queries))
		for i, x := range req.Queries {
			req.Queries64[i] = float64(x) + float64(g.queries[i])
		}
		req.Queries = nil
	}
	return o.AddRests(g.vectors)
}

// allow lets answers without certificates differ by what rounding changed: whoever made them may have rounded
// as searches do.
func (h *hunt) allow(answers []batch.Answer) {
	for j := range answers {
		c := &answers[j].Certificate
		if c.VectorsChange = h.v.Change.Largest; h.changes != nil {
			c.QueryChange = h.changes[j]
		}
	}
}
