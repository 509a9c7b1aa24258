package main

import (
	"fmt"

	"thresher/internal/cli"
)

const (
	// chunkBytes bounds the memory of the answers of a chunk, with what is written of them.
	chunkBytes = 256 << 20
	// writtenBytes is the memory of an answer's atom while it is written, without its id: a row number
	// and a score, as text or binary, in a slice that has grown; fullBytes that of an output that has the score
	// in float64 and row numbers beside ids as well.
	writtenBytes, fullBytes = 64, 128
	// statedFrom is the k from which memory that is not free bounds a search, and its summary states
	// what it took.
	statedFrom = 1000
)

// memoryBound is how many queries a search answers at a time, and the greatest number of bytes
// that this takes in addition to the atoms.
type memoryBound struct {
	Queries int   `json:"queries_at_a_time"`
	Bytes   int64 `json:"bytes"`
}

// boundMemory chooses how many queries are answered at a time, at most so many: few enough for
// the memory of their answers and, if k is large, for what is free. It fails if one answer takes
// more than that.
func (s *search) boundMemory(queries int) (memoryBound, error) {
	req := s.request
	if req.K = s.k; req.K == 0 { // nobody knows how long the answers are
		return memoryBound{Queries: queries}, nil
	}
	written := int64(s.k) * s.writtenBytes()
	one, err := s.engine.Footprint(req, 1)
	if err != nil {
		return memoryBound{}, s.located(err, 0)
	}
	queries = int(max(1, min(int64(queries), chunkBytes/(one.Answers+written))))
	for spare := cli.SpareMemory(); ; queries /= 2 {
		f, err := s.engine.Footprint(req, queries)
		if err != nil {
			return memoryBound{}, s.located(err, 0)
		}
		b := memoryBound{queries, f.Bytes() + int64(queries)*written}
		if s.k < statedFrom || spare == 0 || b.Bytes <= spare {
			return b, nil
		}
		if queries == 1 {
			return b, s.flags.refuse("%w; ask for fewer atoms with -k",
				cli.NeedMemory(fmt.Sprintf("an answer of k = %d of %d atoms", s.k, s.atoms.N), float64(b.Bytes)))
		}
	}
}

// writtenBytes is the memory of one atom of an answer while it is written.
func (s *search) writtenBytes() int64 {
	name := 0
	for _, n := range s.atoms.names[:min(len(s.atoms.names), 1000)] {
		name = max(name, len(n))
	}
	if s.request.SearchScores {
		return int64(fullBytes + 2*name)
	}
	return int64(writtenBytes + 2*name)
}

// describe states the bound and the k that makes it.
func (b *memoryBound) describe(k, atoms int) string {
	return fmt.Sprintf("up to %d MB for %d queries at a time, k = %d of %d", (b.Bytes+999_999)/1_000_000, b.Queries, k, atoms)
}
