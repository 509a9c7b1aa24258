package service

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"thresher/batch"
	"thresher/internal/overdue"
	"thresher/service/catalog"
	"thresher/service/problem"
	"thresher/service/trace"
	"thresher/service/wire"
)

// searchParams lists the options of a search whose body consists of vectors.
func searchParams() []string {
	return []string{"k", "cut_k", "delta", "epsilon", "relative", "method", "published", "plan", "min_score", "max_score", "max_distance", "min_distance", "goals", "deadline_ms", "timeout_ms", "filter", "allow", "exclude", "deny", "include"}
}

func (s *Server) search(r *request, w http.ResponseWriter) error {
	v, err := s.catalog.Use(r.PathValue("name"), 0)
	if err != nil {
		return err
	}
	defer func() { v.Release() }()
	form, err := accepted(r.Request, jsonType, npzType)
	if err != nil {
		return err
	}
	limits := s.limitsOf(v)
	limits.Covers = form == npzType // as all files state it
	var decode func(*input) (*wire.Search, error)
	media, err := s.bodyType(r.Request)
	if err != nil {
		return err
	}
	switch media {
	case jsonType:
		if err := r.params.none(); err != nil {
			return err
		}
		decode = func(in *input) (*wire.Search, error) {
			body, err := in.all()
			if err != nil {
				return nil, err
			}
			if err := in.turn.compute(r.Context(), len(body), decodingByte); err != nil {
				return nil, err
			}
			defer in.close() // the decoded search shares no memory with the body
			return wire.DecodeSearchOrTexts(body, v.Dim(), limits, s.encoders.encoderOf(v.Info().Name, v.Dim()))
		}
	case npyType:
		decode = func(in *input) (*wire.Search, error) {
			body, err := in.all()
			if err != nil {
				return nil, err
			}
			return wire.DecodeSearchNPY(body, r.params.Values, v.Dim(), limits)
		}
	default:
		return unsupported(r.Request, jsonType, npyType)
	}
	var q *wire.Search
	return s.searchInTurn(r, v, func(in *input) (*wire.Search, error) {
		if q, err = decode(in); err == nil && form == npzType {
			q.Scores64 = true // as all files have them
			if v.IDs().Kind() != catalog.RowNumbers {
				in.turn.each = wire.TextBytes
			}
		}
		return q, err
	}, func(ctx context.Context, t *turn, name string, _ *catalog.Version, q *wire.Search) (*batch.Response, error) {
		if v.Len() > 0 && (form == npzType || q.Rows || q.Digest != nil) { // which name rows by their place among all
			whole, err := s.whole(ctx, t, v)
			if err != nil {
				return nil, err
			}
			defer v.Release()
			v = whole
		}
		return s.runSearch(ctx, t, name, v, q)
	}, func(t *turn, resp *batch.Response, took time.Duration) error {
		if q.Covers, err = s.covers(v, q); err != nil {
			return err
		}
		out, info := t.outgoing(r, w), v.Info()
		defer out.close()
		w.Header().Set("ETag", versionTag(info)) // the state that the answer is of
		if form == npzType {
			return out.npz(v, resp, q.Covers)
		}
		jsonHeader(w.Header())
		ids := naming(v)
		out.buf.b = wire.AppendOpening(out.buf.b, info.Version, info.Writes, took, q.Covers, ids)
		for j := range resp.Answers {
			out.buf.b = wire.AppendResult(out.buf.b, j, &resp.Answers[j], q, ids)
			resp.Answers[j] = batch.Answer{} // frees what is written
			if err := out.step(); err != nil {
				return err
			}
		}
		out.buf.b = wire.AppendClosing(out.buf.b, append(q.Notes(), resp.Warnings...))
		return out.end()
	})
}

// npz sends a response as npz.
func (o *outgoing) npz(v *catalog.Version, resp *batch.Response, covers json.RawMessage) error {
	h := o.w.Header()
	h.Set("Content-Type", npzType)
	h.Set("Cache-Control", "no-store")
	if err := wire.WriteAnswerNPZ(o, resp, naming(v), covers); err != nil {
		return err
	}
	return o.end()
}

// none refuses all parameters.
func (p parameters) none() error {
	for name := range p.Values {
		return problem.New(problem.InvalidValue, "options of a JSON body are its members, not parameters").In(name)
	}
	return nil
}

// limitsOf returns what a body may ask for of a version, nil for any.
func (s *Server) limitsOf(v *catalog.Version) wire.Limits {
	l := wire.Limits{Queries: s.o.Limits.Queries, K: s.o.Limits.K, Listed: s.o.Limits.Listed, Budget: s.o.Limits.reading()}
	if v != nil {
		l.Origin, l.Float64 = v.QueryOrigin(), v.Float64()
		l.IDs = 2*v.Len() + minListed // some may be there twice
	}
	return l
}

// searcher answers a decoded search in the named collection, in its turn.
type searcher func(ctx context.Context, t *turn, name string, v *catalog.Version, q *wire.Search) (*batch.Response, error)

// searchInTurn runs a search in its turn: it decodes the body, searches, and passes the response
// to answer.
func (s *Server) searchInTurn(r *request, v *catalog.Version, decode func(*input) (*wire.Search, error), search searcher, answer func(*turn, *batch.Response, time.Duration) error) (err error) {
	info := v.Info()
	call := s.statistics.Begin(info.Name, info.Version)
	defer func() { call.End(err) }()
	end, err := s.limits.Begin(r.client())
	if err != nil {
		return limited(err)
	}
	defer end()
	return s.inTurn(r, func(in *input) error {
		defer s.batches.Interactive()()
		call.Turn(r.queued)
		q, err := decode(in)
		if err != nil {
			return err
		}
		call.Decoded(q.M)
		if len(q.Former) > 0 {
			r.deprecate()
		}
		began := time.Now()
		resp, err := search(r.Context(), in.turn, r.PathValue("name"), v, q)
		if err != nil {
			return s.explainWait(err)
		}
		call.Found()
		return answer(in.turn, resp, time.Since(began))
	})
}

// runSearch answers a decoded search in the named collection, in its turn t. All protocols use it.
func (s *Server) runSearch(ctx context.Context, t *turn, name string, v *catalog.Version, q *wire.Search) (*batch.Response, error) {
	return s.runGoals(ctx, t, name, v, q, q.Listed(), func(req *batch.Request) (err error) {
		req.Goals, err = q.QueryGoals(v.Metric(), s.goalRows(v))
		return err
	})
}

// runGoals is runSearch with the goals that the function gives the request, which list so many ids.
func (s *Server) runGoals(ctx context.Context, t *turn, name string, v *catalog.Version, q *wire.Search, listed int, goals func(*batch.Request) error) (*batch.Response, error) {
	req := q.Request()
	results, err := q.CheckK(v.Len())
	if err != nil {
		return nil, err
	}
	if req.Filter, err = rowsOf(v, q.Filter, q.Called("filter")); err != nil {
		return nil, err
	}
	if req.Exclude, err = rowsOf(v, q.Exclude, q.Called("exclude")); err != nil {
		return nil, err
	}
	if most := s.o.Limits.Results; results > most {
		if q.Goals != nil {
			return nil, problem.New(problem.OverLimit, "the k of %d queries sum up to %d results, a search may have at most %d", q.M, results, most).In("goals").Within(most)
		}
		return nil, problem.New(problem.OverLimit, "%d queries with k = %d have %d results, a search may have at most %d", q.M, q.K, results, most).
			In("k").Within(most)
	}
	bytes := answerBytes(q.M, results) + t.each*int64(results)
	if most := s.o.Limits.Answers; bytes > most {
		return nil, problem.New(problem.OverLimit, "the answers of %d queries with %d results take %d bytes, all answers together may take %d (%s)", q.M, results, bytes, most, s.o.answersKey()).
			In("k").Within(most)
	}
	if err := s.limits.Ask(t.client, q.M); err != nil {
		return nil, limited(err)
	}
	evaluated := v.Len() * q.Evaluated()
	if err := t.reserveAnswer(ctx, bytes+listedBytes*int64(listed)+8*int64(evaluated)); err != nil {
		return nil, err
	}
	if err := t.reserveRun(ctx, v, req, q.M); err != nil {
		return nil, err
	}
	defer t.releaseRun()
	if err := t.compute(ctx, listed, lookingUp); err != nil {
		return nil, err
	}
	if err := t.compute(ctx, evaluated, evaluating); err != nil {
		return nil, err
	}
	if err := goals(&req); err != nil {
		return nil, err
	}
	if most := s.o.Timeouts.Search; most > 0 && (req.Deadline <= 0 || req.Deadline > most) {
		req.Deadline = most
	}
	if req.Deadline > 0 {
		if req.Deadline -= t.spent(); req.Deadline <= 0 {
			return nil, problem.New(problem.Deadline, "the deadline passed while the search waited for a slot").In(q.Called("deadline_ms"))
		}
	}
	req.Turns = t
	search := v.Search
	if req.Deadline > 0 && req.Deadline < shortTimeout || v.Changes() {
		search = v.Direct
		s.statistics.Ran(v.Info().Name)
	}
	ctx, span := trace.Start(ctx, "search")
	resp, err := s.watched(ctx, &req, name, q.M, search)
	if resp != nil {
		err = nil // a partial response says of each answer that it is
	}
	endSearch(span, name, &req, resp, err)
	if err != nil {
		return nil, q.InGoal(err)
	}
	if s.o.Metrics != nil {
		s.o.Metrics.Answered(name, req.Method, resp)
	}
	if err := s.refuseEmpty(q, resp); err != nil {
		return resp, err
	}
	if !s.mayWrite(ctx) {
		wire.Withhold(resp)
	}
	return resp, nil
}

// watched searches, and names the search in the log if it goes on after its deadline, or after its
// client has gone.
func (s *Server) watched(ctx context.Context, req *batch.Request, name string, queries int, search func(context.Context, batch.Request) (*batch.Response, error)) (*batch.Response, error) {
	until := ctx
	if req.Deadline > 0 {
		var cancel context.CancelFunc
		until, cancel = context.WithTimeout(ctx, req.Deadline)
		defer cancel()
	}
	done := overdue.Watch(until, s.o.Log, "a search", "collection", name, "queries", queries, "k", req.K, "method", req.Method, "deadline", req.Deadline)
	defer done()
	return search(ctx, *req)
}

// answerBytes is the memory of the answers to a number of queries: an id and a score for each
// result, the list that they are made of, and a certificate for each query.
func answerBytes(queries, results int) int64 { return 640*int64(queries) + 24*int64(results) }

const (
	// listedBytes is the memory of an id in a query's goal: the id, its row number, and that in
	// the order of a run.
	listedBytes = 24
	// lookingUp is the time to find the row of an id, in ns of one core.
	lookingUp = 100
	// evaluating is the time to evaluate a filter for a row, in ns of one core.
	evaluating = 10
)

// shortTimeout is the timeout below which a search is not coalesced, because it could spend
// its time waiting for others.
const shortTimeout = 50 * time.Millisecond

// refuseEmpty returns the problem of a response to a search that looked at nothing, nil for
// others.
func (s *Server) refuseEmpty(q *wire.Search, resp *batch.Response) error {
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
	return problem.New(problem.Deadline, "the deadline passed before the first look").In(q.Called("deadline_ms"))
}

// rowsIn is rowsOf in a version.
func rowsIn(v *catalog.Version) func(*wire.IDList, string) ([]int64, error) {
	return func(l *wire.IDList, field string) ([]int64, error) { return rowsOf(v, l, field) }
}

// goalRows is rowsIn for the goals of a search, the rows of whose filters take no more memory than answers may.
func (s *Server) goalRows(v *catalog.Version) func(*wire.IDList, string) ([]int64, error) {
	bytes := int64(0)
	return func(l *wire.IDList, field string) ([]int64, error) {
		rows, err := rowsOf(v, l, field)
		if err != nil || l == nil || l.Where == nil {
			return rows, err
		}
		if bytes += 8 * int64(len(rows)); s.o.Limits.Answers > 0 && bytes > s.o.Limits.Answers {
			return nil, problem.New(problem.OverLimit, "the rows of the filters up to this one take %d bytes, all answers together may take %d (%s)", bytes, s.o.Limits.Answers, s.o.answersKey()).
				In(field).Within(s.o.Limits.Answers)
		}
		return rows, nil
	}
}

// rowsOf returns the row numbers of the ids that a search lists; nil for a nil list.
func rowsOf(v *catalog.Version, l *wire.IDList, field string) ([]int64, error) {
	if l == nil {
		return nil, nil
	}
	if l.Where != nil {
		return v.RowsFor(l.Where, field)
	}
	if field != "ids" && field != "candidates" { // of answers, which are no masks
		if places, ok, err := l.Rows(v.Len(), field); ok || err != nil {
			return v.RowsAt(places), err
		}
	}
	rows, err := v.IDs().Rows(&catalog.Keys{Ints: l.Ints, Names: l.Names}, field)
	if rows == nil {
		rows = []int64{} // an empty list differs from no list
	}
	return rows, err
}

// naming says what answers call a version's rows.
func naming(v *catalog.Version) wire.Naming {
	naming := wire.Naming{Metric: v.Metric()}
	switch ids := v.IDs(); ids.Kind() {
	case catalog.Integers:
		naming.Int = ids.Int
	case catalog.Strings:
		naming.Name, naming.Digits = ids.Name, ids.Digits
	}
	return naming
}
