package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"thresher/batch"
	"thresher/dataset"
	"thresher/internal/atomicfile"
	"thresher/tasks"
	"thresher/tasks/report"
)

// reportRun is one run of the command.
type reportRun struct {
	*app
	*judged
	flags   *reportFlags
	stated  []statedFile
	k       int   // vectors searched for each query
	total   int64 // queries in the file
	method  batch.Method
	engine  *engine
	filter  []int64
	sample  *report.Sample
	display *report.Display
	figures report.Figures
}

func (a *app) runReport(ctx context.Context, f *reportFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.parseFilters(); err != nil {
		return err
	}
	r := &reportRun{app: a, flags: f, method: a.certainMethod()}
	if err := checkPublished("report", a.Config, r.method); err != nil {
		return err
	}
	vectors, err := a.openVectors(ctx, "vectors", f.atoms)
	if err != nil {
		return err
	}
	if r.judged, err = a.openJudged(ctx, &f.vectorFlags, vectors, f.ids, f.filterColumn, f.beside()); err != nil {
		return err
	}
	defer r.close()
	if err := r.fit(); err != nil {
		return err
	}
	if err := r.vectors.checkColumns("filter", f.filter.columns()); err != nil {
		return err
	}
	if f.show != "" {
		if err := r.vectors.checkColumns("show", []string{f.show}); err != nil {
			return err
		}
	}
	if size, dim := f.width*f.height*f.depth, r.rows.Dim(); f.pixels != "" && size != dim {
		return fmt.Errorf("--pixels %s: %d values, and the vectors of %s have %d", f.pixels, size, vectors.name, dim)
	}
	if r.total, err = r.count(ctx); err != nil {
		return err
	}
	if r.total == 0 {
		return fmt.Errorf("%s: no queries", r.queries.name)
	}
	defer r.removeStated()
	if err := r.openStated(ctx); err != nil {
		return err
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.engine.close()) }()
	if r.display, err = r.openDisplay(ctx); err != nil {
		return err
	}
	if err := r.draw(ctx); err != nil {
		return err
	}
	if err := r.search(ctx); err != nil {
		return err
	}
	for i := range r.stated {
		a, err := r.compare(ctx, &r.stated[i])
		if err != nil {
			return err
		}
		r.figures.Answers = append(r.figures.Answers, *a)
	}
	return r.write()
}

// beside are columns that are no coordinates.
func (f *reportFlags) beside() []string {
	if f.show == "" {
		return f.filter.columns()
	}
	return append(f.filter.columns(), f.show)
}

// prepare loads the atoms and starts the engine, which the caller closes.
func (r *reportRun) prepare(ctx context.Context) (err error) {
	m := r.total
	if r.flags.sample > 0 {
		m = min(m, r.flags.sample)
	}
	r.engine, err = r.openEngine(ctx, r.vectors, r.layout, demand{method: r.method, k: r.k, queries: m, joins: true, dtype: r.flags.dtype.Elem}, func(a *atoms) (batch.Request, error) {
		var err error
		if r.filters != nil {
			if err := r.filters.prepare(ctx, r.app, r.vectors, r.flags.atomsColumn, a.columns, a.N); err != nil {
				return batch.Request{}, err
			}
		}
		r.filter, err = r.flags.filter.rows(ctx, r.app, r.vectors, r.flags.atomsColumn, a.columns, a.N)
		return batch.Request{K: r.k, Method: r.method, Delta: r.Config.Delta, Filter: r.filter}, err
	})
	if err != nil {
		return err
	}
	a := r.engine.atoms
	r.k = min(r.k, a.N)
	r.figures = report.Figures{
		Version: report.Version, Program: "thresher " + readBuildInfo().Version, Metric: a.Metric.String(), K: r.k,
		Vectors:  report.Set{Name: filepath.Base(r.vectors.name), Rows: int64(a.N), Dim: a.Dim},
		Queries:  report.Set{Name: filepath.Base(r.queries.name), Rows: r.total, Dim: a.Dim},
		Filtered: r.flags.filtered(r.filter),
	}
	if a.Elem() != dataset.ElemFloat32 {
		r.figures.Vectors.DType = a.Elem().String()
	}
	return nil
}

// draw reads the queries of the sample.
func (r *reportRun) draw(ctx context.Context) error {
	a := r.engine.atoms
	r.sample = &report.Sample{Atoms: a.block, Request: batch.Request{
		Stored: !a.Float64(), K: r.k, Method: r.method, Delta: r.Config.Delta, ExcludeSelf: r.flags.excludeSelf, Filter: r.filter,
	}}
	if r.filters != nil {
		r.sample.Filter = r.filters.of
	}
	d := &drawnQueries{
		app: r.app, source: newQueryChunks(r.queries, r.rows, r.Config.Chunk).forAtoms(a), doing: "reading queries",
		atoms: r.vectors, answers: r.queries, total: r.total, sample: r.flags.sample,
	}
	if r.flags.excludeSelf {
		d.selves = func(rows *queryRows, first int64) error { return rows.checkSelves(a, first) }
	}
	for _, err := range eachDrawn(ctx, d, func(c *drawnChunk) (*struct{}, error) {
		var part batch.Request
		var numbers []int64
		var ids []string
		for j := range c.n {
			if !c.drawn(j) {
				continue
			}
			c.add(&part, j)
			numbers = append(numbers, c.first+int64(j))
			if c.ids != nil {
				ids = append(ids, c.ids[j])
			}
		}
		r.sample.Add(&part, numbers, ids)
		return nil, nil
	}) {
		if err != nil {
			return err
		}
	}
	r.figures.Sampled = int64(len(r.sample.Numbers))
	return nil
}

// search finds the best vectors of the sample.
func (r *reportRun) search(ctx context.Context) error {
	p := r.NewProgress("searching")
	defer p.Done()
	found, err := r.sample.Search(ctx, r.engine, func(done int) { p.Set(int64(done), r.figures.Sampled) })
	switch {
	case errors.Is(err, tasks.ErrUnfinished):
		return fmt.Errorf("report: %w", err)
	case err != nil:
		return r.queries.located(err, func(j int) int64 { return r.sample.Numbers[j] })
	}
	found.Backend, found.Threads, found.BuildSeconds = r.engine.Backend(), r.engine.threads(), r.engine.atoms.build.Seconds()
	r.figures.Search = *found
	return nil
}

// write writes the page, and prints the figures or what the page begins with.
func (r *reportRun) write() error {
	if r.flags.out != "" {
		f, err := atomicfile.Create(r.flags.out, 0o666)
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		defer f.Discard()
		if err := report.Write(f, &r.figures); err != nil {
			return fmt.Errorf("%s: %w", r.flags.out, err)
		}
		if err := f.Commit(r.flags.force); err != nil {
			return err
		}
	}
	if r.flags.json {
		return json.NewEncoder(r.Out).Encode(&r.figures)
	}
	_, err := fmt.Fprintln(r.Out, report.Lead(&r.figures))
	return err
}
