package worker

import (
	"sync"
)

// maxSegments bounds the segments of a client.
const maxSegments = 1 << 16

// segments is the memory that the client shares, by the numbers it gave.
type segments struct {
	mu sync.Mutex
	by map[int64]*region
}

// hold returns a segment for use, nil if there is none. The caller releases it.
func (s *segments) hold(number int64) *region {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.by[number]; r != nil {
		return r.hold()
	}
	return nil
}

// add maps a segment of n bytes from the only file of a frame.
func (s *segments) add(number, n int64, f *frame) error {
	switch {
	case number < 1:
		return wrong("segment", "number %d, at least 1", number)
	case n < 1 || n > maxBodyBytes:
		return wrong("bytes", "%d, at least 1 and at most %d", n, int64(maxBodyBytes))
	case len(f.files) != 1:
		return wrong("segment", "%d descriptors; it has one", len(f.files))
	}
	if err := checkSegment(f.files[0]); err != nil {
		return err
	}
	r, _, err := mapRegular(f.files[0], "segment", 0, n)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.by[number] != nil:
		err = wrong("segment", "there is a segment %d already", number)
	case len(s.by) >= maxSegments:
		err = wrong("segment", "more than %d segments", maxSegments).within(maxSegments)
	default:
		if s.by == nil {
			s.by = map[int64]*region{}
		}
		s.by[number] = r
		return nil
	}
	r.release()
	return err
}

// remove ends a segment, which the caller releases; calls and collections that use it keep it.
func (s *segments) remove(number int64) (*region, error) {
	s.mu.Lock()
	r := s.by[number]
	delete(s.by, number)
	s.mu.Unlock()
	if r == nil {
		return nil, wrong("segment", "there is no segment %d", number)
	}
	return r, nil
}

// clear ends all segments.
func (s *segments) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.by {
		r.release()
	}
	s.by = nil
}
