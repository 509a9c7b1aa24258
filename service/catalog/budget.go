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
	idBytes int64 // ids included
}

func (s shape) String() string { return fmt.Sprintf("%d rows of %d columns", s.rows, s.dim) }

// What a coded collection has at most: head directions, coordinates of a panel,
// levels, and coordinates that the rotated dimension is rounded up by.
const (
	headDirections = 32
	panelColumns   = 192
	levelCount     = 7
	rotatedSpare   = 31
	haarSpare      = 3 // up to 256 dimensions
)

// estimate is an upper bound of collection.Collection.Bytes, and close to it.
func (s shape) estimate() int64 {
	sections := s.sections()
	return sections + collection.FileOverhead(sections)
}

// sections is an upper bound of what a collection's arrays and ids take.
func (s shape) sections() int64 {
	n, dim := s.rows, int64(s.dim)
	bytes := s.idBytes + n*(4*dim+8) // rows, order, norms
	switch s.metric {
	case collection.Cosine:
		bytes += 8 * n
	case collection.Euclidean:
		bytes += 4*(n+collection.PanelAtoms) + 8*dim // offsets, centre
	}
	if s.basis == collection.Raw {
		bounds := int64(2)
		for w := int64(16); w < dim; w *= 2 {
			bounds++
		}
		return bytes + 8*n*bounds + 4*dim
	}
	if s.dim < collection.MinRotated {
		return bytes
	}
	n += collection.PanelAtoms // panels are padded
	D := dim + haarSpare
	if dim > 256 {
		D = dim + rotatedSpare
	}
	bytes += n*(headDirections+D) + n*(headDirections+min(D, panelColumns)) // codes, panels
	bytes += n*(13+17*levelCount) + 1<<13                                   // terms of heads and levels
	bytes += 4 * headDirections * dim                                       // directions
	if dim <= 256 {
		bytes += 8 * D * D // the rotation as a matrix, and packed
	}
	if D >= 768 {
		bytes += n * (headDirections + D/8 + 64) // signs
	}
	return bytes + 64*D // what rounds of the rotation keep
}
