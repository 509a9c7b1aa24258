package service

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"thresher/batch"
	"thresher/dataset"
	"thresher/service/api"
	"thresher/service/catalog"
	"thresher/service/problem"
	"thresher/service/wire"
	"thresher/tasks"
)

// pursuitParams lists the options of a pursuit whose body consists of signals.
func pursuitParams() []string {
	return []string{"terms", "nonnegative", "method", "delta", "published", "deadline_ms"}
}

// pursuit writes signals as sums of vectors.
func (s *Server) pursuit(r *request, w http.ResponseWriter) error {
	v, err := s.catalog.Use(r.PathValue("name"), 0)
	if err != nil {
		return err
	}
	defer func() { v.Release() }()
	form, err := accepted(r.Request, jsonType, npzType)
	if err != nil {
		return err
	}
	media, err := s.bodyType(r.Request)
	if err != nil {
		return err
	}
	if media == jsonType {
		if err := r.params.none(); err != nil {
			return err
		}
	} else if media != npyType {
		return unsupported(r.Request, jsonType, npyType)
	}
	var p *pursued
	return s.searchInTurn(r, v, func(in *input) (*wire.Search, error) {
		body, err := in.all()
		if err != nil {
			return nil, err
		}
		if err := in.turn.compute(r.Context(), len(body), decodingByte); err != nil {
			return nil, err
		}
		defer in.close() // what is decoded shares no memory with the body
		p = &pursued{s: s, t: in.turn}
		if media == jsonType {
			p.Pursuit, err = wire.DecodePursuit(body, v.Dim(), s.limitsOf(v))
		} else {
			p.Pursuit, err = wire.DecodePursuitNPY(body, r.params.Values, v.Dim(), s.limitsOf(v))
		}
		if err != nil {
			return nil, err
		}
		return &wire.Search{M: p.M}, nil
	}, func(ctx context.Context, _ *turn, name string, _ *catalog.Version, _ *wire.Search) (*batch.Response, error) {
		whole, err := s.whole(ctx, p.t, v)
		if err != nil {
			return nil, err
		}
		v.Release()
		v = whole
		p.v, p.name = v, name
		return nil, p.pursue(ctx)
	}, func(t *turn, _ *batch.Response, took time.Duration) error {
		out := t.outgoing(r, w)
		defer out.close()
		if form == npzType {
			h := w.Header()
			h.Set("Content-Type", npzType)
			h.Set("Cache-Control", "no-store")
			if err := wire.WriteTermsNPZ(out, p.terms, naming(v)); err != nil {
				return err
			}
			return out.end()
		}
		jsonHeader(w.Header())
		return p.write(out, took)
	})
}

// pursued is one pursuit on its way. It searches in the turn of its request.
type pursued struct {
	*wire.Pursuit
	s       *Server
	t       *turn
	v       *catalog.Version
	name    string
	until   time.Time // zero: no deadline
	terms   []dataset.Term
	summary *tasks.PursuitSummary
}

// termBytes is the memory of a term while it is computed and sent.
const termBytes = 3 * dataset.TermBytes

// pursue finds the terms of all signals.
func (p *pursued) pursue(ctx context.Context) error {
	o, limits := &p.Options, &p.s.o.Limits
	directions := 2
	if o.Nonnegative {
		directions = 1
	}
	if most := limits.Results / p.M; o.Terms > most {
		return problem.New(problem.OverLimit, "%d signals with %d terms have %d terms, a pursuit may have at most %d", p.M, o.Terms, p.M*o.Terms, limits.Results).In("terms").Within(limits.Results)
	}
	task, err := tasks.NewPursuit(p.v.Collection(), p, *o)
	if err != nil {
		return p.explain(err)
	}
	together := min(task.Chunk(), p.M)
	bytes := termBytes*int64(p.M*o.Terms) + int64(together)*task.SignalBytes()
	if most := limits.Answers; bytes > most {
		return problem.New(problem.OverLimit, "a pursuit of %d signals with %d terms takes %d bytes, all answers together may take %d (%s)", p.M, o.Terms, bytes, most, p.s.o.answersKey()).In("terms").Within(most)
	}
	// A client's rate counts each search.
	if err := p.s.limits.Ask(p.t.client, p.M*o.Terms*directions); err != nil {
		return limited(err)
	}
	if err := p.t.reserveAnswer(ctx, bytes); err != nil {
		return err
	}
	if err := p.t.reserveRun(ctx, p.v, o.Request(), together*directions); err != nil {
		return err
	}
	defer p.t.releaseRun()
	most := p.s.o.Timeouts.Search
	if p.Deadline > 0 && (most <= 0 || p.Deadline < most) {
		most = p.Deadline
	}
	if most > 0 {
		p.until = p.t.since.Add(most)
	}
	visit := func(terms []dataset.Term) error {
		p.terms = append(p.terms, terms...)
		return nil
	}
	if p.Signals64 != nil {
		err = task.AllFloat64(ctx, p.Signals64, visit)
	} else {
		err = task.All(ctx, p.Signals, visit)
	}
	p.summary = task.Summary()
	return p.explain(err)
}

// Search answers the searches of one step, in their turns.
func (p *pursued) Search(ctx context.Context, req batch.Request) (*batch.Response, error) {
	queries := len(req.Queries64) / p.v.Dim()
	req.Turns = p.t
	if !p.until.IsZero() {
		if req.Deadline = time.Until(p.until); req.Deadline <= 0 {
			return nil, tasks.ErrUnfinished
		}
	}
	resp, err := p.s.watched(ctx, &req, p.name, queries, p.v.Search)
	if resp == nil {
		return nil, err
	}
	if p.s.o.Metrics != nil {
		p.s.o.Metrics.Answered(p.name, req.Method, resp)
	}
	// The coefficients of this step, and the residuals of the next.
	return resp, p.t.compute(ctx, queries*p.v.Dim(), comparingCoordinate)
}

// explain makes a problem of what is wrong with a pursuit.
func (p *pursued) explain(err error) error {
	var wrong *batch.RequestError
	switch {
	case errors.Is(err, tasks.ErrUnfinished):
		return problem.New(problem.Deadline, "the deadline passed before all terms were found").In("deadline_ms")
	case errors.As(err, &wrong) && wrong.Field == "vectors":
		return problem.New(problem.InvalidValue, "the collection: %v", wrong.Err).In("name").Because(err)
	}
	return err
}

// write sends the terms as JSON.
func (p *pursued) write(out *outgoing, took time.Duration) error {
	ids := naming(p.v)
	info := p.v.Info()
	out.buf.b = wire.AppendOpening(out.buf.b, info.Version, info.Writes, took, nil, ids)
	for j, terms := 0, p.terms; j < p.M; j++ {
		n := 0
		for n < len(terms) && terms[n].Signal == int64(j) {
			n++
		}
		out.buf.b = wire.AppendPursued(out.buf.b, j, terms[:n], ids)
		terms = terms[n:]
		if err := out.step(); err != nil {
			return err
		}
	}
	x := p.summary
	tail, err := json.Marshal(&api.PursuitSummary{
		Signals: x.Signals, Terms: x.Terms, Residual: x.Residual, Method: x.Method, Guarantee: x.Guarantee, Law: x.Law,
		Promise: x.Promise, Delta: x.Delta, Rounded: x.Rounded, Warnings: x.Warnings,
	})
	if err != nil {
		return err
	}
	out.buf.b = append(append(out.buf.b, `],"summary":`...), tail...)
	out.buf.b = append(out.buf.b, '}')
	return out.end()
}
