package catalog

import (
	"fmt"
	"sync"

	"thresher/collection"
	"thresher/service/problem"
)

// budget is the memory that versions may take together.
type budget struct {
	most int64 // 0 is no limit

	mu   sync.Mutex
	used int64
}

// share is what one version holds of a budget.
type share struct {
	b    *budget
	what string
	held int64
}

func (b *budget) share(name string) *share { return &share{b: b, what: name} }

// resize takes or gives back what makes the share n bytes, and refuses with the
// figures what is not there. why says what needs so much.
func (s *share) resize(n int64, why string) error {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	others := s.b.used - s.held
	if n > s.held && s.b.most > 0 && n > s.b.most-others {
		return problem.New(problem.OutOfMemory,
			"collection %s: %s need about %d bytes, others hold %d, and the memory budget is %d",
			s.what, why, n, others, s.b.most).Within(s.b.most)
	}
	s.b.used += n - s.held
	s.held = n
	return nil
}

// settle makes the share n bytes, which are there already.
func (s *share) settle(n int64) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.used += n - s.held
	s.held = n
}

// shape is the size of a collection as far as its memory depends on it.
type shape struct {
	rows    int64
	dim     int
	metric  collection.Metric
	basis   collection.Basis
	idBytes int64 // of the ids
}

func (s shape) String() string { return fmt.Sprintf("%d rows of %d columns", s.rows, s.dim) }

// estimate is an upper bound of what a collection and its ids take, and close to it.
func (s shape) estimate() int64 {
	return s.idBytes + collection.Size(s.rows, s.dim, &collection.Options{Metric: s.metric, Basis: s.basis})
}
