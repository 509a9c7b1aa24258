package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"thresher/batch"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/join"
	"thresher/tasks"
)

// graph is the verb that finds the nearest neighbours of the atoms among themselves.
const graph = "graph"

type graphFlags struct {
	searchFlags
	symmetric, mutual, distances bool
	way                          string
}

func newGraphCommand(a *app) *cobra.Command {
	f := &graphFlags{searchFlags: searchFlags{verb: graph}}
	cmd := &cobra.Command{
		Use:   "graph --vectors FILE [--metric NAME] -k N --out FILE",
		Short: "Find the k nearest neighbours of every vector: a k-NN graph",
		Long: `Find the k nearest neighbours of every vector among the other vectors: a k-NN graph.

A vector is no neighbour of itself; duplicates of it are. The search is --method certain
unless told otherwise, so every row is right. --out is one of

  .npz      sparse matrix for scipy.sparse.load_npz (CSR, float32): column j of row i
            holds the score of i and its neighbour j
  .parquet  table of edges: source, target, score, score64 (in float64); and source_id,
            target_id where the vectors have an id column
  .csv      the same, under a header
  .jsonl    the same, an object for each edge

Scores are those of search: inner products, cosines, or with --metric l2 squared
distances. --distances writes distances instead (l2: not squared; cosine: 1 less the
cosine), as the precomputed neighbours of scikit-learn, UMAP and Scanpy are. The edges
of a row are in order, best first. Without --symmetric and --mutual each row has k.

--filter EXPRESSION says by other columns of the file which vectors take part; the others have
rows without neighbours, and are no neighbours (docs/filters.md).

The rows found are kept next to the output until all are; --resume continues a run that
was killed.`,
		Example: `  thresher graph --vectors A.npy --metric cosine -k 15 --out graph.npz
  thresher graph --vectors A.npy --metric l2 -k 15 --mutual --distances --out graph.npz`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runGraph(cmd.Context(), f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.atoms, "vectors", "", atomsHelp)
	fs.StringVar(&f.atomsColumn, vectorsColumnFlag, "", columnHelp("the vectors"))
	a.reading.add(fs)
	f.dtype.add(fs)
	f.filter.addTo(fs, partHelp)
	fs.StringVar(&f.ids, "ids", "", "`column` of the vectors' ids (default: the column id, if there is one)")
	fs.StringVar(&f.out, "out", "", "`file` for the graph, ending in "+endings(dataset.EdgesWritten, "or"))
	fs.StringVar(&f.certificates, "certificates", "", "`file` (.jsonl) for the certificate of every row")
	fs.BoolVar(&f.symmetric, "symmetric", false, "join two vectors if either is a neighbour of the other; the edge has their score in both directions")
	fs.BoolVar(&f.mutual, "mutual", false, "join two vectors if each is a neighbour of the other")
	fs.BoolVar(&f.distances, "distances", false, "write distances instead of scores")
	fs.StringVar(&f.way, "way", string(join.ByCost), "how vectors are searched: one by one (`rows`), each pair of vectors once (pairs; method certain), or as is forecast to be faster (auto)")
	fs.BoolVar(&f.resume, "resume", false, "continue a run that was killed; keeps FILE.progress at the end, so that the same command, given again, finds that all is done")
	fs.BoolVar(&f.force, "overwrite", false, "overwrite outputs")
	fs.BoolVar(&f.json, "json", false, "summary as one JSON object on stdout")
	addSettings(cmd, append(searchSettings(), batch.PublishedNames()...)...)
	fs.Lookup("k").Usage = "neighbours of each vector"
	fs.Lookup("method").DefValue = certainByDefault
	return cmd
}

// check rejects conflicting flags before anything is read.
func (f *graphFlags) check() error {
	switch {
	case f.atoms == "":
		return f.refuse("--vectors names the file of vectors")
	case f.out == "" || f.out == cli.Stdio:
		return f.refuse("--out names the file for the graph, ending in %s", endings(dataset.EdgesWritten, "or"))
	case f.symmetric && f.mutual:
		return f.refuse("--symmetric and --mutual exclude each other")
	case f.resume && f.force:
		return f.refuse("--resume and --overwrite exclude each other")
	}
	return f.checkOutputs()
}

// runGraph makes a graph as a search whose queries are the atoms.
func (a *app) runGraph(ctx context.Context, f *graphFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.filter.parse(); err != nil {
		return err
	}
	s := &search{app: a, flags: &f.searchFlags, k: a.Config.K, method: a.certainMethod()}
	if s.out, err = newAnswerFiles(&f.searchFlags); err != nil {
		return err
	}
	if s.in.atoms, err = a.openVectors(ctx, "vectors", f.atoms); err != nil {
		return err
	}
	defer s.in.atoms.remove()
	s.in.atoms.except = f.filter.columns()
	if err := s.in.atoms.checkColumns("filter", f.filter.columns()); err != nil {
		return err
	}
	s.in.queries = s.in.atoms
	g := &graphSearch{search: s, flags: f}
	if err := g.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.graph.Close(), s.engine.close()) }()
	if err := g.answer(ctx); err != nil {
		return err
	}
	return s.report()
}

// graphSearch is one run of the command.
type graphSearch struct {
	*search
	flags *graphFlags
	graph *tasks.GraphSearch
}

// prepare loads the atoms and starts the engine, which the caller closes.
func (g *graphSearch) prepare(ctx context.Context) error {
	columns := &dataset.Options{Column: g.flags.atomsColumn, IDs: g.flags.ids, FindIDs: true}
	e, err := g.openEngine(ctx, g.in.atoms, columns, demand{method: g.method, queries: -1, joins: true, dtype: g.flags.dtype.Elem}, func(a *atoms) (batch.Request, error) {
		g.atoms = a
		return g.buildRequest(ctx)
	})
	if err != nil {
		return err
	}
	g.engine = e
	if g.graph, err = tasks.NewGraphSearch(e.Engine, g.options()); err != nil {
		return errors.Join(g.located(err, 0), e.close())
	}
	g.out.rows.graph = g.graph
	g.warnings = append(g.warnings, g.graph.Summary().Warnings...)
	g.describe()
	return nil
}

// options say which graph is wanted.
func (g *graphSearch) options() tasks.GraphOptions {
	c, f := g.Config, g.flags
	return tasks.GraphOptions{
		GraphOptions: join.GraphOptions{K: g.k, Method: g.method, Delta: c.Delta, Epsilon: c.Epsilon, Published: g.request.Published, Threads: c.Threads, Memory: cli.SpareMemory(), Way: join.Way(f.way), Filter: g.request.Filter},
		Symmetric:    f.symmetric, Mutual: f.mutual, Distances: f.distances,
	}
}

// buildRequest checks what depends on the atoms, and returns the request for their neighbours.
func (g *graphSearch) buildRequest(ctx context.Context) (batch.Request, error) {
	c, n := g.Config, g.atoms.N
	filter, err := g.flags.filter.rows(ctx, g.app, g.in.atoms, g.flags.atomsColumn, g.atoms.columns, n)
	if err != nil {
		return batch.Request{}, err
	}
	g.request.Filter = filter
	if filter != nil {
		n = len(filter)
	}
	if g.k > n-1 && n > 1 {
		g.warnings = append(g.warnings, fmt.Sprintf("k reduced from %d to %d, the vectors other than the query itself", g.k, n-1))
		g.k = n - 1
	}
	g.columns = columnsOf(g.atoms.columns, nil)
	published, err := publishedOptions(g.Config)
	if err != nil {
		return batch.Request{}, err
	}
	o := g.options()
	if err := o.Check(g.atoms.N, g.atoms.Metric); err != nil {
		var e *batch.RequestError
		if errors.As(err, &e) && e.Field == "vectors" {
			return batch.Request{}, fmt.Errorf("%s: %w", g.in.atoms.name, e.Err)
		}
		return batch.Request{}, g.located(err, 0)
	}
	if need := o.UndirectedBytes(g.atoms.N); need > 0 {
		if err := cli.NeedMemory(fmt.Sprintf("joining the directions of %d rows of %d neighbours", g.atoms.N, g.k), need); err != nil {
			return batch.Request{}, err
		}
	}
	g.out.rows.n, g.out.rows.names = g.atoms.N, g.atoms.names
	g.request = batch.Request{K: g.k, Delta: c.Delta, Epsilon: c.Epsilon, Method: g.method, Published: published, ExcludeSelf: true, Filter: filter}
	return g.request, nil
}

// answer finds all rows and writes the graph.
func (g *graphSearch) answer(ctx context.Context) error {
	p := g.NewProgress("searching")
	defer p.Done()
	n := int64(g.atoms.N)
	blocks := &rowBlocks{n: n, size: int64(g.Config.Chunk), resume: g.out.rows.resume, log: g.out.outputs()[0]}
	done, err := runChunks(ctx, g.search, blocks, func(done int64) { p.Set(done, n) }, g.block)
	if err != nil {
		return err
	}
	p.Done()
	if err := g.finish(ctx, done); err != nil {
		return err
	}
	g.summary.Graph = &g.graph.Summary().GraphShape
	return nil
}

// block searches the next n atoms. It is a jobs.Work.
func (g *graphSearch) block(ctx context.Context, n int, first int64, totals []byte) ([][]byte, []byte, error) {
	b, err := g.graph.Search(ctx, first, n)
	if err != nil {
		return nil, nil, g.located(err, first)
	}
	totals, err = addTotals(totals, b.Response)
	if err != nil {
		return nil, nil, err
	}
	out := make([][]byte, len(g.out.outputs()))
	for i := range b.Results {
		out[0] = dataset.AppendRecord(out[0], &b.Results[i])
	}
	if g.out.certificates != "" {
		for j, atom := range b.Atoms {
			certificate, err := json.Marshal(&b.Response.Answers[j].Certificate)
			if err != nil {
				return nil, nil, fmt.Errorf("certificate of row %d: %w", atom, err)
			}
			out[1] = fmt.Appendf(out[1], `{"query":%d,"certificate":%s}`+"\n", atom, certificate)
		}
	}
	return out, totals, nil
}
