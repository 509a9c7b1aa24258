package catalog

import (
	"fmt"
	"sync"

	"thresher/collection"
	"thresher/dataset"
	"thresher/service/problem"
)

// budget is the memory that all versions together may take.
type budget struct {
	most int64 // 0 means no limit

	mu   sync.Mutex
	used int64
}

// share is the part of a budget that one version holds.
type share struct {
	b    *budget
	what string
	held int64
}

func (b *budget) share(name string) *share { return &share{b: b, what: name} }

// resize sets the share to n bytes, and fails with a problem if the budget does not have
// them. why says what needs the memory.
func (s *share) resize(n int64, why string) error {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	return s.set(n, why)
}

// set is resize; the budget's lock is held.
func (s *share) set(n int64, why string) error {
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

// grow adds n bytes to the share, and fails as resize does.
func (s *share) grow(n int64, why string) error {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	return s.set(s.held+n, why)
}

// settle sets the share to n bytes that are allocated already.
func (s *share) settle(n int64) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.used += n - s.held
	s.held = n
}

// Memory returns the bytes that all versions hold, or have reserved.
func (c *Catalog) Memory() int64 {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	return c.memory.used
}

// shape is the size of a collection, as far as its memory depends on it.
type shape struct {
	rows    int64
	dim     int
	metric  collection.Metric
	basis   collection.Basis
	elem    dataset.Elem // in which values given in float64 are kept
	idBytes int64        // of the ids
}

func (s shape) String() string { return fmt.Sprintf("%d rows of %d columns", s.rows, s.dim) }

// estimate returns a close upper bound of the memory of a collection and its ids, in bytes.
func (s shape) estimate() int64 {
	return s.idBytes + collection.Size(s.rows, s.dim, &collection.Options{Metric: s.metric, Basis: s.basis, Elem: s.elem})
}
