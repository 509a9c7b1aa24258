package duel

import "thresher/bandit/philox"

// source is a stream of philox that knows its place, so that a saved tournament
// goes on with the numbers it would have drawn.
type source struct {
	philox.Source
	place uint64
}

func newSource(seed, stream uint64) *source {
	return &source{Source: *philox.New(seed, stream)}
}

func (s *source) Uint64() uint64 {
	s.place++
	return s.Source.Uint64()
}

func (s *source) Seek(place uint64) {
	s.place = place
	s.Source.Seek(place)
}
