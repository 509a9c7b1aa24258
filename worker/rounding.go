package worker

import (
	"thresher/batch"
	"thresher/verify"
)

// rests returns the array of this name: what each value of rows of the collection's dimension lacks of the
// one given. It is nil if there is none.
func (s *search) rests(name string, rows int) ([]float32, error) {
	a, err := s.call.get(name, float32s)
	if a == nil || err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 || a.Shape[0] != int64(rows) || a.Shape[1] != int64(s.index.Dim) {
		return nil, wrong(name, "shape %v; [%d %d] is wanted", a.Shape, rows, s.index.Dim)
	}
	b, err := a.read()
	if err != nil {
		return nil, err
	}
	if !isAligned(b, 4) {
		return nil, wrong(name, "offset %d: float32 begin at multiples of 4 bytes", a.Offset)
	}
	return elements[float32](b), nil
}

// given are the values that a client gave and float32 does not hold, for a verification.
type given struct {
	vectors, queries []float32 // rests; nil: the rounded ones are compared
}

func (s *search) rounding() (g given, err error) {
	if s.given != nil { // nothing is rounded
		return g, nil
	}
	if g.vectors, err = s.rests("vectors_rests", s.index.N); err == nil {
		g.queries, err = s.rests("queries_rests", s.m)
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
func (s *search) allow(answers []batch.Answer) {
	for j := range answers {
		c := &answers[j].Certificate
		if c.VectorsChange = s.index.Change.Largest; s.changes != nil {
			c.QueryChange = s.changes[j]
		}
	}
}
