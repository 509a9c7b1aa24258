package tasks

import (
	"errors"
	"fmt"
	"iter"

	"thresher/batch"
)

// DivideRequest divides a request into requests of at most size consecutive queries, of dim values each, with the
// goals that each of its queries asks for. Those of more than one are Part of a longer list.
func DivideRequest(all *batch.Request, goals *Goals, dim, size int) iter.Seq2[*batch.Request, error] {
	return func(yield func(*batch.Request, error) bool) {
		m := max(len(all.Queries), len(all.Queries64)) / dim
		for lo := 0; lo < m; lo += size {
			hi := min(m, lo+size)
			part := *all
			part.Goals = goals.Queries(lo, hi)
			if all.Queries != nil {
				part.Queries = all.Queries[lo*dim : hi*dim]
			}
			if all.Queries64 != nil {
				part.Queries64 = all.Queries64[lo*dim : hi*dim]
			}
			if all.Changes != nil {
				part.Changes = all.Changes[lo:hi]
			}
			part.SelfFirst += int64(lo)
			part.Part = all.Part || m > size
			if !yield(&part, nil) {
				return
			}
		}
	}
}

// PartLimits bound the parts in which a search is answered.
type PartLimits struct {
	Queries int   // of a part, 1 or more
	Answers int64 // bytes of the answers to a part, with what is written of them
	Written int64 // bytes of an atom of an answer while it is written
	// Free, unless 0, is how many bytes a part may take in all. One query alone may take them if looks drop as
	// many vectors as is forecast.
	Free int64
}

// PartMemory is how many queries a search answers at a time, and the greatest number of bytes
// that this takes in addition to the vectors; 0 if nobody knows how long the answers are. Of one query they are those that
// are expected.
type PartMemory struct {
	Queries int   `json:"queries_at_a_time"`
	Bytes   int64 `json:"bytes"`
}

// ErrMemory means that the answer to a single query takes more memory than is free.
var ErrMemory = errors.New("an answer takes more memory than is free")

// footprinter states the memory of searches, as a *batch.Engine does.
type footprinter interface {
	Footprint(req batch.Request, queries int) (batch.Footprint, error)
}

// Divide chooses how many queries like those of a request, which wants K atoms for each, are answered at a time: as
// many as the limits allow. It is ErrMemory, beside the memory of one query, if that is too much; other errors are those
// of the search.
func (l *PartLimits) Divide(e footprinter, req batch.Request) (PartMemory, error) {
	if req.K == 0 && (l.Free == 0 || req.MinScore == nil) { // limits of goals are not known yet
		return PartMemory{Queries: l.Queries}, nil
	}
	one, err := e.Footprint(req, 1)
	if err != nil {
		return PartMemory{}, err
	}
	written := int64(req.K) * l.Written
	for queries := int(max(1, min(int64(l.Queries), l.Answers/(one.Answers+written)))); ; queries /= 2 {
		f, err := e.Footprint(req, queries)
		if err != nil {
			return PartMemory{}, err
		}
		m := PartMemory{queries, f.Bytes() + int64(queries)*written}
		if queries == 1 && l.Free > 0 && m.Bytes > l.Free {
			m.Bytes = f.Expected() + written
		}
		fits := l.Free == 0 || m.Bytes <= l.Free
		switch {
		case req.K == 0 && (fits || queries == 1):
			return PartMemory{Queries: queries}, nil
		case fits:
			return m, nil
		case queries == 1:
			return m, fmt.Errorf("%w: %d bytes, and %d are free", ErrMemory, m.Bytes, l.Free)
		}
	}
}
