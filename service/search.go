package service

import (
	"context"
	"net/http"
	"time"

	"thresher/batch"
	"thresher/service/catalog"
	"thresher/service/problem"
	"thresher/service/wire"
)

// searchParams are the options of a search whose body is nothing but vectors.
func searchParams() []string {
	return []string{"k", "cut_k", "delta", "epsilon", "relative", "method", "plan", "min_score", "timeout_ms", "allow", "deny", "include"}
}

// smallBody is up to how many bytes a body is read before its search has its turn, so
// that who sends slowly keeps nobody else from searching.
const smallBody = 64 << 10

func (s *Server) search(r *request, w http.ResponseWriter) error {
	v, err := s.catalog.Use(r.PathValue("name"), 0)
	if err != nil {
		return err
	}
	defer v.Release()
	form, err := accepted(r.Request, jsonType, npzType)
	if err != nil {
		return err
	}
	var decode func(*input) (*wire.Search, error)
	switch mediaType(r.Request) {
	case jsonType:
		if err := r.params.none(); err != nil {
			return err
		}
		decode = func(in *input) (*wire.Search, error) {
			body, err := in.all()
			if err != nil {
				return nil, err
			}
			return wire.DecodeSearch(body, v.Dim(), s.wireLimits())
		}
	case npyType:
		decode = func(in *input) (*wire.Search, error) {
			body, err := in.all()
			if err != nil {
				return nil, err
			}
			return wire.DecodeSearchNPY(body, r.params.Values, v.Dim(), s.wireLimits())
		}
	default:
		return unsupported(r.Request, jsonType, npyType)
	}
	var q *wire.Search
	return s.answered(r, v, func(in *input) (*wire.Search, error) {
		q, err = decode(in)
		return q, err
	}, func(resp *batch.Response, took time.Duration) error {
		out := s.buffer()
		defer s.free(out)
		if form == npzType {
			return s.sendNPZ(w, out, v, resp)
		}
		out.b = wire.AppendAnswer(out.b, v.Info().Version, took, resp, q, naming(v))
		jsonHeader(w.Header())
		return send(w, http.StatusOK, out.b)
	})
}

func (s *Server) sendNPZ(w http.ResponseWriter, out *buffer, v *catalog.Version, resp *batch.Response) error {
	if err := wire.WriteAnswerNPZ(out, resp, naming(v)); err != nil {
		return err
	}
	w.Header().Set("Content-Type", npzType)
	w.Header().Set("Cache-Control", "no-store")
	return send(w, http.StatusOK, out.b)
}

// none refuses parameters.
func (p parameters) none() error {
	for name := range p.Values {
		return problem.New(problem.InvalidValue, "options of a JSON body are its members, not parameters").In(name)
	}
	return nil
}

func (s *Server) wireLimits() wire.Limits {
	return wire.Limits{Queries: s.o.Limits.Queries, K: s.o.Limits.K}
}

// answered has a search take its turn: it waits at the gate, decodes the body, searches,
// and hands the response over, all of it while the turn lasts.
func (s *Server) answered(r *request, v *catalog.Version, decode func(*input) (*wire.Search, error), answer func(*batch.Response, time.Duration) error) error {
	return s.inTurn(r, func(in *input) error {
		defer s.batches.Interactive()()
		q, err := decode(in)
		if err != nil {
			return err
		}
		began := time.Now()
		resp, err := s.find(r, v, q)
		if err != nil {
			return s.waited(err)
		}
		return answer(resp, time.Since(began))
	})
}

// find answers a search that was decoded.
func (s *Server) find(r *request, v *catalog.Version, q *wire.Search) (*batch.Response, error) {
	req := q.Request()
	if n := v.Len(); q.K > n && !q.CutK {
		return nil, problem.New(problem.OverLimit, "k is %d and the collection has %d atoms; cut_k has it cut to that", q.K, n).In("k").Within(n)
	}
	var err error
	if req.Allow, err = rowsOf(v, q.Allow, "allow"); err != nil {
		return nil, err
	}
	if req.Deny, err = rowsOf(v, q.Deny, "deny"); err != nil {
		return nil, err
	}
	if q.M*min(q.K, v.Len()) > s.o.Limits.Results {
		return nil, problem.New(problem.OverLimit, "%d queries with k = %d have %d results, %d are the most of one search", q.M, q.K, q.M*min(q.K, v.Len()), s.o.Limits.Results).
			In("k").Within(s.o.Limits.Results)
	}
	if most := s.o.Timeouts.Search; most > 0 && (req.Timeout <= 0 || req.Timeout > most) {
		req.Timeout = most
	}
	if req.Timeout > 0 {
		if req.Timeout -= r.queued; req.Timeout <= 0 {
			return nil, problem.New(problem.Deadline, "the deadline passed while the search waited for its turn").In("timeout_ms")
		}
	}
	search := v.Search
	if req.Timeout > 0 && req.Timeout < shortTimeout {
		search = v.Direct
	}
	resp, err := search(r.Context(), req)
	if err != nil {
		return nil, err
	}
	if s.o.Metrics != nil {
		s.o.Metrics.Answered(r.PathValue("name"), req.Method, resp)
	}
	return resp, s.worthless(resp)
}

// shortTimeout is below what a search is better not gathered with others: it would spend
// its time on waiting for them.
const shortTimeout = 50 * time.Millisecond

// worthless is the problem of a response that looked at nothing, or nil.
func (s *Server) worthless(resp *batch.Response) error {
	for i := range resp.Answers {
		if c := &resp.Answers[i].Certificate; c.StoppedBy == batch.Done || c.Pulls > 0 {
			return nil
		}
	}
	for i := range resp.Answers {
		if resp.Answers[i].Certificate.StoppedBy == batch.Cancelled {
			return context.Canceled
		}
	}
	if len(resp.Answers) == 0 {
		return nil
	}
	return problem.New(problem.Deadline, "the deadline passed before anything was looked at").In("timeout_ms")
}

// rowsOf are the row numbers of ids that a search lists; nil for a nil list.
func rowsOf(v *catalog.Version, l *wire.IDList, field string) ([]int64, error) {
	if l == nil {
		return nil, nil
	}
	rows, err := v.IDs().Rows(&catalog.Keys{Ints: l.Ints, Names: l.Names}, field)
	if rows == nil {
		rows = []int64{} // a list of nothing is not no list
	}
	return rows, err
}

// naming is what the rows of a version are called.
func naming(v *catalog.Version) wire.Naming {
	switch ids := v.IDs(); ids.Kind() {
	case catalog.Integers:
		return wire.Naming{Int: ids.Int}
	case catalog.Strings:
		return wire.Naming{Name: ids.Name}
	}
	return wire.Naming{}
}
