package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"thresher/batch"
	"thresher/service/problem"
	"thresher/service/wire"
)

// request is one line of a file of requests, as far as it could be read.
type request struct {
	line     int64  // number in the file, from 1
	customID string // "" if it could not be read
	// shelf and at are the collection and its index in the batch's list.
	shelf       shelf
	at          int
	search      *wire.Search
	allow, deny []int64           // row numbers; nil without such lists
	goals       []batch.QueryGoal // one a query; nil if there are none
	results     int               // that the answer has at most
	k           int               // of the search, before it is reduced to the number of vectors
	// named and cut say whether the options of a matrix name k, and cut_k as true.
	named, cut bool
	// answered is the problem of the body, as the search would answer it; refused is why the
	// line is not a request.
	answered, refused *problem.Problem
}

// requests is the jobs.Source of a file of requests.
type requests struct {
	j       *job
	rec     *record
	f       *os.File
	lines   *lineReader
	shelves []shelf // of the pinned collections, opened when first named
	held    *request
	ended   bool
}

func (j *job) openRequests(rec *record) (*requests, error) {
	f, err := os.Open(j.path(rec.inputName()))
	if err != nil {
		return nil, err
	}
	return &requests{
		j: j, rec: rec, f: f, lines: newLineReader(f, j.m.o.LineBytes),
		shelves: make([]shelf, len(rec.Batch.Collections)),
	}, nil
}

func (s *requests) close() {
	s.f.Close() // read only
	for _, c := range s.shelves {
		if c != nil {
			c.release()
		}
	}
}

// Skip skips requests that were answered.
func (s *requests) Skip(ctx context.Context, n int64) error {
	for i := range n {
		if i%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, _, err := s.lines.nextLine(); err == io.EOF {
			return fmt.Errorf("the input holds %d requests, %d are answered already", i, n)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// maxAtoms bounds the atoms that the requests of a chunk list and that their answers
// contain, which bounds its memory unless a single request exceeds it.
const maxAtoms = 1 << 21

// Next returns the requests of a chunk: as many as have the chunk's number of queries. Its
// end depends on the requests alone.
func (s *requests) Next(ctx context.Context) ([]*request, int, error) {
	var chunk []*request
	var queries, atoms int
	for len(chunk) < s.rec.Chunk {
		r, err := s.nextRequest(ctx)
		if err == io.EOF {
			s.ended = true
			break
		}
		if err != nil {
			return nil, 0, err
		}
		m, n := r.size()
		if len(chunk) > 0 && (queries+m > s.rec.Chunk || atoms+n > maxAtoms) {
			s.held = r
			break
		}
		chunk, queries, atoms = append(chunk, r), queries+m, atoms+n
	}
	if len(chunk) == 0 {
		return nil, 0, io.EOF
	}
	return chunk, len(chunk), nil
}

// size returns the number of queries of a request, and of atoms that it lists and may be
// answered with.
func (r *request) size() (queries, atoms int) {
	if r.search == nil {
		return 0, 0
	}
	return r.search.M, r.results + len(r.allow) + len(r.deny) + r.listed()
}

// listed returns the number of ids in the goals.
func (r *request) listed() int {
	n := 0
	for j := range r.goals {
		n += len(r.goals[j].Exclude) + len(r.goals[j].Candidates)
	}
	return n
}

func (s *requests) nextRequest(ctx context.Context) (*request, error) {
	if r := s.held; r != nil {
		s.held = nil
		return r, nil
	}
	if s.ended {
		return nil, io.EOF
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	text, long, err := s.lines.nextLine()
	if err != nil {
		return nil, err
	}
	r := &request{line: s.lines.at}
	if long {
		most := s.j.m.o.LineBytes
		r.refused = problem.New(problem.OverLimit, "the line has more than %d bytes", most).Within(most)
		return r, nil
	}
	return r, s.read(ctx, r, text)
}

// read fills r in from a line. Errors of the line are stored in r; the returned error is of
// another kind.
func (s *requests) read(ctx context.Context, r *request, text []byte) error {
	line, err := wire.DecodeLine(text)
	r.customID = line.CustomID
	if err != nil {
		r.refused = problem.Of(err)
		return nil
	}
	name, ok := collectionOf(line.URL)
	if !ok {
		r.refused = problem.New(problem.InvalidValue, "url %.200q is not of the form %s", line.URL, endpointForm).In("url").Within(endpointForm)
		return nil
	}
	pinned := s.rec.Batch.Collections
	r.at = slices.IndexFunc(pinned, func(p Pinned) bool { return p.Name == name })
	if r.at < 0 {
		r.answered = problem.New(problem.UnknownCollection, "when the batch was validated there was no collection %.200q ready, or %d others were named before", name, maxCollections).In("url")
		return nil
	}
	if s.shelves[r.at] == nil {
		if s.shelves[r.at], err = s.j.m.library.use(ctx, name, pinned[r.at].Version); err != nil {
			return err
		}
	}
	r.shelf = s.shelves[r.at]
	err = r.decode(line.Body, s.j.m.o.Limits)
	var p *problem.Problem
	if errors.As(err, &p) && p.Kind.Status() < 500 {
		r.answered, r.search, r.allow, r.deny, r.goals = p, nil, nil, nil, nil
		return nil
	}
	return err
}

// decode reads the body of a request and checks it against its collection.
func (r *request) decode(body []byte, limits wire.Limits) (err error) {
	limits.Origin, limits.Float64 = r.shelf.origin(), r.shelf.float64s()
	if r.search, err = wire.DecodeSearch(body, r.shelf.dim(), limits); err != nil {
		return err
	}
	n := r.shelf.len()
	if r.results, err = r.search.CheckK(n); err != nil {
		return err
	}
	r.k, r.search.K = r.search.K, min(r.search.K, n)
	if r.results == 0 {
		r.results = r.search.M * n // k is not limited
	}
	if r.allow, err = r.shelf.rows(r.search.Filter, r.search.Called("filter")); err != nil {
		return err
	}
	if r.deny, err = r.shelf.rows(r.search.Exclude, r.search.Called("exclude")); err != nil {
		return err
	}
	if r.goals, err = r.search.QueryGoals(r.shelf.metric(), r.shelf.rows); err != nil {
		return err
	}
	if err := r.stateCoverage(); err != nil {
		return err
	}
	r.search.Filter, r.search.Exclude = nil, nil // replaced by their rows
	if r.search.Goals != nil {
		r.search.Goals = []wire.QueryGoal{} // likewise
	}
	return nil
}
