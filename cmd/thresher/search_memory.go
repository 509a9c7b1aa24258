package main

import (
	"errors"
	"fmt"
	"runtime/debug"

	"thresher/internal/cli"
	"thresher/tasks"
)

const (
	// chunkBytes bounds the memory of the answers of a chunk, with what is written of them.
	chunkBytes = 256 << 20
	// writtenBytes is the memory of an answer's atom while it is written, without its id: a row number
	// and a score, as text or binary, in a slice that has grown; fullBytes that of an output that has the score
	// in float64 and row numbers beside ids as well.
	writtenBytes, fullBytes = 64, 128
	// statedFrom is the k from which the summary of a search states what memory it took; of vectors that take
	// more than the free memory, or if that divides the queries, it does so from any.
	statedFrom = 1000
)

// boundMemory chooses how many queries are answered at a time, at most so many: few enough for
// the memory of their answers, and for what is free. It fails if one answer takes more than that.
func (s *search) boundMemory(queries int) (tasks.PartMemory, error) {
	req := s.request
	req.K = s.k
	l := tasks.PartLimits{Queries: queries, Answers: chunkBytes, Written: s.writtenBytes()}
	l.Free = cli.SpareMemory()
	m, err := l.Divide(s.engine, req)
	if errors.Is(err, tasks.ErrMemory) || err == nil && m.Queries < queries && l.Free > 0 {
		debug.FreeOSMemory() // what is not in use any more counts as taken until it is collected
		l.Free = cli.SpareMemory()
		m, err = l.Divide(s.engine, req)
	}
	if err == nil && l.Free > 0 && m.Bytes > l.Free/2 {
		cli.GrowHeapBy(l.Free)
	}
	switch {
	case errors.Is(err, tasks.ErrMemory):
		return m, s.flags.refuse("%w; ask for fewer vectors with -k",
			cli.NeedMemory(fmt.Sprintf("an answer of k = %d of %d vectors", s.k, s.atoms.N), float64(m.Bytes)))
	case err != nil:
		return m, s.located(err, 0)
	}
	return m, nil
}

// writtenBytes is the memory of one atom of an answer while it is written.
func (s *search) writtenBytes() int64 {
	name := 0
	for row := range int64(min(s.atoms.names.Len(), 1000)) {
		name = max(name, len(s.atoms.names.Text(row)))
	}
	if s.request.SearchScores {
		return int64(fullBytes + 2*name)
	}
	return int64(writtenBytes + 2*name)
}

// describeMemory states what a search takes, and the k that makes it.
func describeMemory(m *tasks.PartMemory, k, atoms int) string {
	return fmt.Sprintf("up to %d MB for %d queries at a time, k = %d of %d", (m.Bytes+999_999)/1_000_000, m.Queries, k, atoms)
}
