package service

import (
	"sync"

	"thresher/service/wire"
)

// Encoder embeds texts in the space of a collection made of texts. Encode must be safe for
// concurrent use; it returns Dim finite values, or nil for a text without known words.
type Encoder struct {
	Dim    int
	Encode func(text string) []float32
}

// encoders are the encoders of collections, by name.
type encoders struct {
	mu sync.RWMutex
	of map[string]Encoder
}

// encoderOf returns the encoder of a collection of a dimension, nil if it has none.
func (e *encoders) encoderOf(name string, dim int) wire.Encoder {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if found, ok := e.of[name]; ok && found.Dim == dim {
		return found.Encode
	}
	return nil
}

func (e *encoders) dropEncoder(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.of, name)
}

// Encode permits texts in place of vectors in searches of a collection, until it is deleted
// or replaced by a client.
func (s *Server) Encode(collection string, e Encoder) {
	s.encoders.mu.Lock()
	defer s.encoders.mu.Unlock()
	if s.encoders.of == nil {
		s.encoders.of = map[string]Encoder{}
	}
	s.encoders.of[collection] = e
}
