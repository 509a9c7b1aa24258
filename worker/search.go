package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"

	"thresher/batch"
	"thresher/tasks"
)

// searching are the fields of a search.
type searching struct {
	Handle   int64        `json:"handle"`
	K        int          `json:"k"`
	Method   batch.Method `json:"method"`
	Plan     string       `json:"plan"`
	Delta    float64      `json:"delta"`
	Epsilon  float64      `json:"epsilon"`
	Relative bool         `json:"relative"`
	// Published are options of a published method.
	Published batch.Published `json:"published"`
	MinScore  *float64        `json:"min_score"`
	MaxScore  *float64        `json:"max_score"`
	SelfFirst *int64          `json:"self_first"`
	Looks     bool            `json:"looks"`
	Limit     int             `json:"limit"`
	// Threads is how many threads of the CPU search; 0 is the collection's number.
	Threads int `json:"threads"`

	rounded bool // the scores of the reply are float32
}

// request returns the request without queries and goals.
func (f *searching) request() batch.Request {
	r := batch.Request{SearchScores: !f.rounded, K: f.K, Method: f.Method, Plan: f.Plan, Delta: f.Delta, Epsilon: f.Epsilon, Relative: f.Relative, Published: f.Published,
		MinScore: f.MinScore, MaxScore: f.MaxScore, Limit: f.Limit}
	if f.SelfFirst != nil {
		r.ExcludeSelf, r.SelfFirst = true, *f.SelfFirst
	}
	return r
}

const (
	// maxPart bounds the queries that are answered together: as many as an Engine takes.
	maxPart = 1024
	// maxPartAnswers bounds the bytes of the answers that are not in the reply yet.
	maxPartAnswers = 64 << 20
)

// search answers many queries, part by part.
type search struct {
	call    *call
	index   *index
	walk    *rowWalk // of an index that was changed, unless index is a block of it
	n       int      // vectors
	engine  tasks.Searcher
	goals   *goals
	req     batch.Request // of all queries
	queries []float32
	given   []float64 // in their place, as given, of vectors of float64
	changes []float64 // of each query, by rounding; nil if there are none
	m, k    int
	threads int                  // that write the answers, at least 1
	summary *tasks.SearchSummary // after run
}

// newWalk is newSearch of an index that may have been changed: its segments are searched as they are.
func (c *call) newWalk(ctx context.Context, f *searching) (*search, error) {
	v, err := c.s.registry.hold(f.Handle)
	if err != nil {
		return nil, err
	}
	x := v.changed()
	if x == nil {
		return c.searchOf(ctx, v, f, true)
	}
	s := &search{call: c, index: v, walk: x.walk(), req: f.request()}
	s.n, s.engine = s.walk.Len(), s.walk
	s.threads = cmp.Or(v.options.Threads, runtime.GOMAXPROCS(0))
	err = s.read(f, true)
	if err == nil {
		_, err = threadsOf(f.Threads, 0)
	}
	if err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// release ends the use of the vectors.
func (s *search) release() {
	if s.walk != nil {
		if err := s.walk.Release(); err != nil {
			s.call.s.o.Log.Error("segments ended with an error", "error", err)
		}
	}
	s.index.release()
}

// newSearch reads queries and goals, whose collection the caller releases.
func (c *call) newSearch(ctx context.Context, f *searching, withCandidates bool) (*search, error) {
	v, err := c.hold(ctx, f.Handle)
	if err != nil {
		return nil, err
	}
	return c.searchOf(ctx, v, f, withCandidates)
}

// searchOf is newSearch of a collection, which it releases after an error.
func (c *call) searchOf(ctx context.Context, v *index, f *searching, withCandidates bool) (*search, error) {
	s := &search{call: c, index: v, n: v.N, req: f.request()}
	err := s.read(f, withCandidates)
	var threads int
	if err == nil {
		threads, err = threadsOf(f.Threads, 0)
	}
	if err == nil {
		s.threads = cmp.Or(threads, v.options.Threads, runtime.GOMAXPROCS(0))
		s.engine, err = v.with(ctx, &c.s.o, threads)
	}
	if err != nil {
		v.release()
		return nil, err
	}
	return s, nil
}

func (s *search) read(f *searching, withCandidates bool) error {
	a, err := s.call.matrix("queries", queryTypes(s.index.Elem())...)
	if err != nil {
		return err
	}
	if a.Shape[1] != int64(s.index.Dim) {
		return wrong("queries", "%d columns; the vectors have %d", a.Shape[1], s.index.Dim).within(s.index.Dim)
	}
	if s.queries, s.given, err = a.floats(); err != nil {
		return err
	}
	if s.m = int(a.Shape[0]); s.m == 0 {
		return wrong("queries", "none given")
	}
	if s.index.Float64() {
		s.given, s.queries = widened(s.queries, s.given), nil
	} else {
		// The client takes queries relative to the origin, where there is one, before it rounds them.
		s.req.Stored = true
		if s.changes, err = vector[float64](s.call.arguments, "changes", s.m, float64s); err != nil {
			return err
		}
	}
	if f.K < 0 {
		return wrong("k", "%d, at least 1", f.K)
	}
	if s.goals, err = s.call.readGoals(s.m, s.n, withCandidates); err != nil {
		return err
	}
	if err := s.checkSelves(); err != nil {
		return err
	}
	s.req.Filter, s.req.Exclude = s.goals.filter, s.goals.excluded
	s.k = min(s.goals.MaxK(f.K), s.n)
	return nil
}

// widened returns rows of float32 or float64, of which the others are nil, in float64.
func widened(narrow []float32, wide []float64) []float64 {
	if wide == nil {
		wide = make([]float64, len(narrow))
		for i, x := range narrow {
			wide[i] = float64(x)
		}
	}
	return wide
}

// checkSelves checks the precondition of self_first: query j equals atom self_first+j. Rows that do not exist
// are left to the search, which refuses them.
func (s *search) checkSelves() error {
	first := s.req.SelfFirst
	if !s.req.ExcludeSelf || first < 0 || first > int64(s.n-s.m) {
		return nil
	}
	var e *tasks.SelfError
	if err := s.compareSelves(first); !errors.As(err, &e) {
		return err
	}
	return wrong("self_first", "query %d is not row %d of the vectors; exclude lists what other queries may not return", e.Query, e.Vector).at(e.Query)
}

// compareSelves compares the queries with the vectors from row first on. It is a *tasks.SelfError.
func (s *search) compareSelves(first int64) error {
	switch {
	case s.walk == nil && s.given != nil:
		return tasks.CheckGivenSelves(s.given, s.index.Collection, first, 0)
	case s.walk == nil:
		return tasks.CheckStoredSelves(s.queries, s.index.Collection, first, 0)
	}
	dim := s.index.Dim
	for j := range int64(s.m) {
		from, end, vector := j*int64(dim), (j+1)*int64(dim), number(s.walk.numbers, first+j)
		same := false
		if s.given != nil {
			same = slices.Equal(s.given[from:end], s.walk.Given(vector))
		} else {
			same = slices.Equal(s.queries[from:end], s.walk.Vector(vector))
		}
		if !same {
			return &tasks.SelfError{Query: j, Vector: first + j, Vectors: s.n}
		}
	}
	return nil
}

// run answers all queries, and calls take with each part: the number of its first query, its
// request and its answers. A search that reaches its deadline returns what it has.
func (s *search) run(ctx context.Context, step string, take func(lo int, req *batch.Request, resp *batch.Response) error) error {
	if err := s.goals.Check(&s.req, s.index.Metric); err != nil {
		return s.goals.located(err)
	}
	part, err := s.partQueries()
	if err != nil {
		return s.goals.located(err)
	}
	all, done := s.req, 0
	all.Queries, all.Queries64, all.Changes = s.queries, s.given, s.changes
	var taking error
	s.summary, err = tasks.Search(ctx, s.engine, tasks.DivideRequest(&all, &s.goals.Goals, s.index.Dim, part), func(req *batch.Request, resp *batch.Response) error {
		lo := done
		done += len(resp.Answers)
		if taking = take(lo, req, resp); taking != nil {
			return taking
		}
		s.call.report(step, int64(done), int64(s.m))
		return nil
	})
	if taking != nil {
		return taking
	}
	return s.goals.located(err)
}

// partQueries is how many queries are answered together, at most maxPart.
func (s *search) partQueries() (int, error) {
	if s.k == 0 || s.m*s.k <= maxPartAnswers/(8+answerBytes) {
		return maxPart, nil // the engine divides those that keep many vectors
	}
	req := s.req
	req.K = min(s.k, s.index.N)
	l := tasks.PartLimits{Queries: maxPart, Answers: maxPartAnswers, Written: 4}
	if s.call.s.o.Spare != nil {
		l.Free = s.call.s.o.Spare()
	}
	memory, err := l.Divide(s.index.engine, req)
	if errors.Is(err, tasks.ErrMemory) {
		debug.FreeOSMemory() // what is not in use any more counts as taken until it is collected
		l.Free = s.call.s.o.Spare()
		memory, err = l.Divide(s.index.engine, req)
	}
	if errors.Is(err, tasks.ErrMemory) {
		err = (&failure{Kind: noMemory, Argument: "k", Message: fmt.Sprintf("%v; ask for fewer vectors", err)}).within(l.Free)
	}
	return memory.Queries, err
}

// searched is the reply to a search.
type searched struct {
	K        int      `json:"k,omitempty"`
	Complete bool     `json:"complete"`
	Promise  string   `json:"promise"` // of all answers, in words
	Warnings []string `json:"warnings"`
	Plans    []string `json:"plans"`
	Backends []string `json:"backends"`
	Words    []string `json:"words,omitempty"` // of looks
	TookMS   float64  `json:"took_ms"`
	Saving   float64  `json:"saving"`
}

// reply describes the answers to the search that was run.
func (s *search) reply(t *tables) searched {
	return searched{K: s.k, Complete: s.summary.Complete == s.summary.Queries, Promise: s.summary.Promise, Warnings: s.summary.Warnings, Plans: t.plans.list, Backends: t.backends.list, Words: t.looks.list, TookMS: s.summary.SearchSeconds * 1e3, Saving: s.summary.Saving}
}

// lookTable is the looks of all answers.
type lookTable struct {
	lims    []int64
	records []byte
}

func (t *lookTable) add(names *tables, a *batch.Answer) {
	for i := range a.Certificate.Looks {
		t.records = names.appendLook(t.records, &a.Certificate.Looks[i])
	}
	t.lims = append(t.lims, int64(len(t.records)/lookBytes))
}

// search answers queries that want k atoms each.
func (c *call) search(ctx context.Context) (any, *reply, error) {
	if c.compact != nil {
		result, arrays, err := c.searchFor(ctx, c.compact)
		if err != nil {
			return nil, nil, err
		}
		return compactReply{result.(searched), arrays.columns[0].Shape[0]}, arrays, nil
	}
	var f searching
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	return c.searchFor(ctx, &f)
}

// searchFor is search for fields that are decoded.
func (c *call) searchFor(ctx context.Context, f *searching) (any, *reply, error) {
	if f.Limit != 0 {
		return nil, nil, wrong("limit", "a search has k; limit is for range")
	}
	s, err := c.newWalk(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	defer s.release()
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	if s.k == 0 {
		return nil, nil, wrong("k", "0, at least 1; range finds all vectors above a score")
	}
	n, k := int64(s.m), int64(s.k)
	if err := c.fits("k", n*(answerBytes*k+certificateBytes)); err != nil {
		return nil, nil, err
	}
	columns := answerColumns(n, k, f.rounded)
	out, err := newReply(c.s.link.passes() && !f.Looks, columns...)
	if err != nil {
		return nil, nil, err
	}
	names := newTables()
	t := &lookTable{lims: []int64{0}}
	err = s.run(ctx, "searching", func(lo int, _ *batch.Request, resp *batch.Response) error {
		s.put(out, lo, names, resp)
		for j := range resp.Answers {
			if f.Looks {
				t.add(names, &resp.Answers[j])
			}
		}
		return nil
	})
	if err != nil {
		out.close()
		return nil, nil, err
	}
	if f.Looks {
		columns = append(columns, column{"look_lims", int64s, []int64{n + 1}}, column{"looks", looks, []int64{int64(len(t.records) / lookBytes)}})
		if out, err = replyOf(c.s.link.passes(), columns, out.part(0), out.part(1), out.part(2), bytesOf(t.lims), t.records); err != nil {
			return nil, nil, err
		}
	}
	return s.reply(names), out, nil
}

// rangeSearch answers queries that want all atoms that reach a score.
func (c *call) rangeSearch(ctx context.Context) (any, *reply, error) {
	var f searching
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	if f.K != 0 {
		return nil, nil, wrong("k", "range has no k; search has")
	}
	s, err := c.newWalk(ctx, &f)
	if err != nil {
		return nil, nil, err
	}
	defer s.release()
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	switch {
	case s.goals.K != nil:
		return nil, nil, wrong("ks", "range has no k; search has")
	case f.MinScore == nil && s.goals.MinScore == nil:
		return nil, nil, wrong("min_score", "is missing; range finds all vectors that reach it")
	case s.goals.MinScore != nil && f.MinScore == nil:
		for j, x := range s.goals.MinScore {
			if math.IsNaN(x) {
				return nil, nil, wrong("floors", "NaN, and there is no min_score").at(int64(j))
			}
		}
	}
	names := newTables()
	g := &gathered{lims: []int64{0}}
	t := &lookTable{lims: []int64{0}}
	err = s.run(ctx, "searching", func(_ int, _ *batch.Request, resp *batch.Response) error {
		for j := range resp.Answers {
			a := &resp.Answers[j]
			g.rows = append(g.rows, a.IDs...)
			for _, x := range a.SearchScores {
				g.scores64 = append(g.scores64, s.index.Metric.Shown(x))
			}
			g.lims = append(g.lims, int64(len(g.rows)))
			g.certificates = names.appendCertificate(g.certificates, &a.Certificate)
			g.limited = append(g.limited, flag(a.Limited))
			if f.Looks {
				t.add(names, a)
			}
			a.IDs, a.Scores, a.SearchScores = nil, nil, nil
		}
		return c.fits("min_score", answerBytes*int64(len(g.rows)))
	})
	if err != nil {
		return nil, nil, err
	}
	n, found := int64(s.m), int64(len(g.rows))
	columns := []column{{"lims", int64s, []int64{n + 1}}, {"rows", int64s, []int64{found}}, {"scores64", float64s, []int64{found}}, {"certificates", certificates, []int64{n}}, {"limited", bools, []int64{n}}}
	contents := [][]byte{bytesOf(g.lims), bytesOf(g.rows), bytesOf(g.scores64), g.certificates, g.limited}
	if f.Looks {
		columns = append(columns, column{"look_lims", int64s, []int64{n + 1}}, column{"looks", looks, []int64{int64(len(t.records) / lookBytes)}})
		contents = append(contents, bytesOf(t.lims), t.records)
	}
	out, err := replyOf(c.s.link.passes(), columns, contents...)
	return s.reply(names), out, err
}

// gathered are answers of any length, one after the other.
type gathered struct {
	lims, rows            []int64
	scores                []float32
	scores64              []float64
	certificates, limited []byte
}
