package baseline

import "context"

// Scan is the naive search that all savings are relative to: every score is computed.
type Scan struct{ vectors *Vectors }

// NewScan returns the naive search of vectors.
func NewScan(vectors *Vectors) *Scan { return &Scan{vectors} }

// Search computes all scores: n d multiplications.
func (s *Scan) Search(ctx context.Context, query []float32, k int) (Found, error) {
	v := s.vectors
	if err := v.check(query, k); err != nil {
		return Found{}, err
	}
	return v.score(ctx, query, k, everyID(v.n), Effort{})
}

// Preprocessing is none.
func (s *Scan) Preprocessing() Effort { return Effort{} }

func (s *Scan) String() string { return "" }

// everyID returns 0, 1, ..., n-1.
func everyID(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(i)
	}
	return ids
}
