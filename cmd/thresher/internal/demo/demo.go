package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"thresher/backend"
	"thresher/batch"
	"thresher/cmd/thresher/internal/corpus"
	"thresher/collection"
)

// Dim is the dimension of the demo's vectors.
const Dim = 4096

// wanted is the number of answers of every query.
const wanted = 10

// Options configure a demo; Backend is required, zero values of the others mean defaults.
type Options struct {
	Backend backend.Backend // owned by the caller
	// Costs are as in batch.Options.
	Costs *backend.Costs
	// Load reads the texts; nil reads those of the machine's Go tree or, if there is none,
	// the embedded ones.
	Load func(context.Context) (*corpus.Corpus, error)
	// Dim is a power of two; 0 means the constant.
	Dim   int
	Delta float64 // as in batch.Request
	Seed  uint64  // of the rotation
	// Threads is the number of threads of Backend; 0 means GOMAXPROCS.
	Threads int
	// Queries, if any, replace the usual questions and the batch.
	Queries []string
	// Sample is the number of queries that the dense scan answers too, rounded up to whole
	// pieces; 0 means the constant, negative all.
	Sample int
	// Keep, if not nil, is called with the vectors, [n][dim] row-major, before any search; it
	// must not change or keep them.
	Keep func(n, dim int, rows []float32) error
	// Progress, if not nil, is called with the progress of a stage.
	Progress func(stage string, done, total int64)
}

// tour is the state of a running demo.
type tour struct {
	*Options
	corpus  *corpus.Corpus
	rows    []float32
	weigher *corpus.Weigher
	engine  *batch.Engine
}

// Run runs the demo and prints each part to out as soon as it is known; a nil out prints
// nothing. When ctx ends it returns ctx's error.
func Run(ctx context.Context, o *Options, out io.Writer) (*Report, error) {
	if out == nil {
		out = io.Discard
	}
	t := &tour{Options: o}
	p := &printer{w: out, short: len(o.Queries) == 0}
	r, err := t.prepare(ctx)
	if err != nil {
		return nil, err
	}
	defer t.engine.Close()
	p.loaded(r)

	if r.Questions, err = t.ask(ctx); err != nil {
		return nil, err
	}
	p.questions(r)
	if len(o.Queries) == 0 {
		if r.Batch, err = t.compare(ctx); err != nil {
			return nil, err
		}
		p.batch(r)
	}
	p.certificate(r)
	p.next()
	if p.err != nil {
		return nil, fmt.Errorf("print the demo: %w", p.err)
	}
	return r, nil
}

// prepare loads and vectorizes texts and opens an engine on them.
func (t *tour) prepare(ctx context.Context) (*Report, error) {
	begun := time.Now()
	t.progress("reading comments", 0, -1)
	load := t.Load
	if load == nil {
		load = corpus.Load
	}
	texts, err := load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the demo's texts: %w", err)
	}
	t.corpus = texts
	loaded := time.Now()
	dim := cmp.Or(t.Dim, Dim)
	rows, weigher, err := corpus.Vectorize(ctx, t.corpus, dim, t.Threads)
	if err != nil {
		return nil, fmt.Errorf("weigh the demo's texts: %w", err)
	}
	t.rows, t.weigher = rows, weigher
	weighed := time.Now()
	if t.Keep != nil {
		if err := t.Keep(len(t.corpus.Entries), dim, rows); err != nil {
			return nil, err
		}
	}
	built := time.Now()
	c, err := collection.Build(ctx, rows, dim, &collection.Options{
		Metric: collection.InnerProduct, Seed: t.Seed, Threads: t.Threads,
		Progress: func(done, total int64) { t.progress("preparing vectors", done, total) },
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the demo's vectors: %w", err)
	}
	// The collection is in memory and needs no closing.
	if t.engine, err = batch.Open(ctx, c, t.Backend, &batch.Options{Costs: t.Costs}); err != nil {
		return nil, fmt.Errorf("open the demo's vectors: %w", err)
	}
	return &Report{
		Go: t.corpus.Version, Source: cmp.Or(t.corpus.Source, "embedded extract"), License: corpus.Notice,
		Atoms: len(t.corpus.Entries), Dimension: dim, K: min(wanted, len(t.corpus.Entries)),
		Threads: cmp.Or(t.Threads, runtime.GOMAXPROCS(0)), Backend: t.Backend.Name(),
		LoadSeconds:   loaded.Sub(begun).Seconds(),
		VectorSeconds: weighed.Sub(loaded).Seconds(),
		BuildSeconds:  time.Since(built).Seconds(),
	}, nil
}

func (t *tour) progress(stage string, done, total int64) {
	if t.Progress != nil {
		t.Progress(stage, done, total)
	}
}

// search runs one request and returns an error if the context has ended, because half an
// answer is of no use here.
func (t *tour) search(ctx context.Context, req batch.Request) (*batch.Response, error) {
	req.K, req.Delta = wanted, t.Delta
	resp, err := t.engine.Search(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp, nil
}
