package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"thresher/batch"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/jobs"
	"thresher/tasks"
)

// answer searches all queries and writes their answers to the outputs.
func (s *search) answer(ctx context.Context, queries dataset.Reader) error {
	src, err := s.boundedChunks(queries)
	if err != nil {
		return err
	}
	p := s.NewProgress("searching")
	defer p.Done()
	if s.flags.deadline > 0 {
		s.until = time.Now().Add(s.flags.deadline)
	}
	if s.flags.out == cli.Stdio {
		return s.stream(ctx, src, func(done int64) { p.Set(done, s.flags.part.count(queries)) })
	}

	if s.flags.force && s.out.exists() { // nothing is given up for a damaged file
		if err := s.engine.verified(ctx); err != nil {
			return err
		}
	}
	done, err := runChunks(ctx, s, src, func(done int64) { p.Set(done, s.flags.part.count(queries)) }, s.chunk)
	if err != nil {
		return err
	}
	p.Done()
	return s.finish(ctx, done)
}

// boundedChunks divides the queries into chunks of bounded memory, and states it.
func (s *search) boundedChunks(queries dataset.Reader) (*queryChunks, error) {
	src := newQueryChunks(s.in.queries, queries, s.Config.Chunk).forAtoms(s.atoms).within(s.flags.part.QueryPart)
	wanted := src.chunk
	m, err := s.boundMemory(wanted)
	if err != nil {
		return nil, err
	}
	src.chunk = m.Queries
	s.Log.Info("memory of the search", "k", s.k, "bytes", m.Bytes, "queries_at_a_time", m.Queries)
	if m.Bytes > 0 && (s.k >= statedFrom || s.atoms.beyond || m.Queries < wanted) {
		s.summary.Memory = &m
	}
	return src, nil
}

// runChunks answers the chunks of src and makes their answers durable. observe is told how many
// items are.
func runChunks[T any](ctx context.Context, s *search, src jobs.Source[T], observe func(done int64), work jobs.Work[T]) (jobs.Summary, error) {
	fingerprint, earlier, err := s.fingerprint(ctx)
	if err != nil {
		return jobs.Summary{}, err
	}
	spec := jobs.Spec{
		Progress: s.out.progress(), Outputs: s.out.outputs(), Fingerprint: fingerprint, Earlier: earlier,
		Resume: s.flags.resume, Force: s.flags.force,
		Observe: func(at jobs.Progress) {
			observe(at.Items)
			s.Log.Debug("chunk is durable", s.flags.items(), at.Items, "elapsed", at.Elapsed)
		},
	}
	done, err := jobs.Run(ctx, spec, src, work)
	if err != nil {
		return done, s.stopped(ctx, done, err)
	}
	return done, nil
}

// finish converts the durable answers to the output files and ends the job.
func (s *search) finish(ctx context.Context, done jobs.Summary) error {
	t, err := readTotals(done.Totals)
	if err != nil {
		return err
	}
	if t.Queries == 0 {
		return fmt.Errorf("%s: no queries", s.in.queries.name)
	}
	if done.Delivered {
		err = requireFiles(s.out.progress(), s.out.results()...)
	} else if err = s.out.assemble(ctx); err == nil {
		err = endJob(s.out.progress(), s.flags.resume)
	}
	if err != nil {
		return err
	}
	if err := s.out.clear(); err != nil {
		return err
	}
	if err := s.setTotals(t); err != nil {
		return err
	}
	s.summary.Resumed = done.Resumed
	s.summary.Output = s.flags.out
	return nil
}

// stopped adds to an error how the run can be continued.
func (s *search) stopped(ctx context.Context, done jobs.Summary, err error) error {
	return stoppedJob(ctx, err, stopping{progress: s.out.progress(), done: done.Items, items: s.flags.items(), resumed: s.flags.resume})
}

// stream writes the answers as JSON lines to stdout, without durable progress.
func (s *search) stream(ctx context.Context, src *queryChunks, observe func(done int64)) error {
	var first int64
	var totals []byte
	for {
		rows, n, err := src.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		var out [][]byte
		if out, totals, err = s.chunk(ctx, rows, first, totals); err != nil {
			return err
		}
		if _, err := s.app.Out.Write(out[0]); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		first += int64(n)
		observe(first)
	}
	t, err := readTotals(totals)
	if err != nil {
		return err
	}
	if t.Queries == 0 {
		return fmt.Errorf("%s: no queries", s.in.queries.name)
	}
	return s.setTotals(t)
}

// setTotals completes the summary.
func (s *search) setTotals(t searchTotals) (err error) {
	s.summary.setTotals(t)
	if s.certified != nil {
		s.certified.tasks.Resume(t.Certified, t.StatedScores) // of an earlier run, if nothing was left to do
		s.summary.Certified, err = s.certified.tasks.Certified()
	}
	return err
}

// chunk answers the queries in rows, before which done of the part's are answered. It is a jobs.Work.
func (s *search) chunk(ctx context.Context, rows queryRows, done int64, totals []byte) ([][]byte, []byte, error) {
	first := s.flags.part.first() + done
	t, err := readTotals(totals)
	if err != nil {
		return nil, nil, err
	}
	if s.flags.excludeSelf {
		if err := selvesError(rows.checkSelves(s.atoms, first), s.in.queries, s.in.atoms); err != nil {
			return nil, nil, &refusedError{err}
		}
	}
	req := s.request
	req.SelfFirst = first
	rows.ask(&req)
	others, err := s.setGoals(&req, first)
	if err != nil {
		return nil, nil, &refusedError{err}
	}
	run := tasks.SearchRun{Engine: s.engine, Until: s.until, SearchCounts: t.SearchCounts}
	resp, err := run.Answer(ctx, first, &req)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, s.located(err, 0)
	}
	t.SearchCounts = run.SearchCounts
	if s.certified != nil {
		if err := s.certified.compare(ctx, &t, &tasks.Part{Request: &req, Proven: resp.Answers, Stated: others}); err != nil {
			return nil, nil, err
		}
	}
	newTotals, err := json.Marshal(t)
	if err != nil {
		return nil, nil, err
	}
	out, err := s.out.encode(resp.Answers, done, s.atoms.Metric, s.atoms.names, rows.ids)
	return out, newTotals, err
}

// located adds the file and its row to an error of the engine.
func (s *search) located(err error, first int64) error {
	var e *batch.RequestError
	if !errors.As(err, &e) {
		return err
	}
	if e.Query >= 0 {
		return &refusedError{fmt.Errorf("%s: row %d (0-based): %w", s.in.queries.name, first+int64(e.Query), e.Err)}
	}
	return &refusedError{fmt.Errorf("--%s: %w", s.flags.flagOf(e.Field), e.Err)}
}

// refusedError names the query or flag that the engine refused.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// fingerprint is a hash of everything that determines the answers. earlier is that of programs that wrote answers of
// the version before, "" if the output has none.
func (s *search) fingerprint(ctx context.Context) (own, earlier string, err error) {
	atoms, err := s.in.atoms.hash(ctx)
	if err != nil {
		return "", "", err
	}
	savedIDs, err := s.in.atoms.hashSavedIDs(ctx)
	if err != nil {
		return "", "", err
	}
	var savedColumns string // of searches with a filter
	if s.flags.filter.expr != nil || s.filters != nil {
		if savedColumns, err = s.in.atoms.hashSavedColumns(ctx); err != nil {
			return "", "", err
		}
	}
	var queries string // a graph has none
	if s.flags.verb != graph {
		if queries, err = s.in.queries.hash(ctx); err != nil {
			return "", "", err
		}
	}
	o, err := s.buildOptions(s.request.Method)
	if err != nil {
		return "", "", err
	}
	var verb, candidates, exclude string // those of before are without
	if s.flags.verb == graph {
		verb = graph
	}
	if s.flags.candidates != "" {
		if candidates, err = s.in.candidates.hash(ctx); err != nil {
			return "", "", err
		}
		verb = s.flags.verb
	}
	if s.flags.exclude != "" {
		if exclude, err = s.in.exclude.hash(ctx); err != nil {
			return "", "", err
		}
	}
	asked := struct {
		Version                    int
		Atoms, Queries             string
		AtomsColumn, QueriesColumn string
		IDs                        string
		Method, Metric, Basis      string
		K                          int
		Delta, Epsilon             float64
		MinScore                   *float64
		ExcludeSelf                bool
		Seed                       uint64
		Verb                       string   `json:",omitempty"`
		Candidates                 string   `json:",omitempty"`
		Exclude                    string   `json:",omitempty"`
		KColumn, FloorColumn       string   `json:",omitempty"`
		CeilingColumn              string   `json:",omitempty"`
		MaxScore                   *float64 `json:",omitempty"`
		Integers                   string   `json:",omitempty"`
		ByID                       bool     `json:",omitempty"`
		Header, Zeros              string   `json:",omitempty"`
		SavedIDs                   string   `json:",omitempty"`
		Published                  string   `json:",omitempty"`
		Filter                     string   `json:",omitempty"`
		SavedColumns               string   `json:",omitempty"`
		Part                       string   `json:",omitempty"`
		DType                      string   `json:",omitempty"`
		FilterColumn               string   `json:",omitempty"`
	}{
		1, atoms, queries, s.flags.atomsColumn, s.flags.queriesColumn, s.flags.ids,
		string(s.request.Method), s.atoms.Metric.String(), o.Basis.String(),
		s.request.K, s.request.Delta, s.request.Epsilon, s.request.MinScore, s.request.ExcludeSelf, s.atoms.Seed,
		verb, candidates, exclude, s.flags.kColumn, s.flags.floorColumn,
		s.flags.ceilingColumn, s.request.MaxScore, s.flags.integers, s.out.ids != nil, s.reading.header, s.flags.zeros, savedIDs, s.request.Published.String(), s.flags.filter.text, savedColumns, s.flags.part.text, s.atoms.wide(), s.flags.filterColumn,
	}
	if earlier, err = digest(asked); err != nil || verb == graph { // whose output has no version
		return earlier, "", err
	}
	asked.Version = dataset.AnswersVersion
	own, err = digest(asked)
	return own, earlier, err
}

// digest is the SHA-256 of a value as JSON, in hexadecimal.
func digest(v any) (string, error) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		return "", err
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:]), nil
}
