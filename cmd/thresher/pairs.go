package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/join"
	"thresher/tasks"
)

type pairsFlags struct {
	atoms, atomsColumn  string
	with, withColumn    string
	ids, out            string
	components          string
	limit               scoreLimits // the least score
	maxPairs            int64
	resume, force, json bool
	dtype               dtypeFlag
	filter              rowFilter
}

func newPairsCommand(a *app) *cobra.Command {
	f := &pairsFlags{}
	cmd := &cobra.Command{
		Use:   "pairs --vectors FILE [--metric NAME] --min-score S --out FILE",
		Short: "Find all pairs of vectors above a score",
		Long: `Find all pairs of vectors that score at least --min-score (with --metric l2: whose squared
distance is at most --max-distance), duplicates included; with --with, all pairs of a vector and a
row of another file. Nothing is missed: --method is certain unless told otherwise. By
adaptive each pair is missed with probability at most delta.

--out gets a row for each pair: a and b (row numbers; b is the row of --with), score, and
a_id and b_id where the files have ids, in ascending order of a, then b. Without --with
each unordered pair is there once, with a < b. Formats: .parquet, .csv, .jsonl, or .npz
for scipy.sparse.load_npz. While the search runs, 20 bytes a pair are kept next to it.

--components gets a row for each vector, in no pair or many: row, id, component (the least
row that pairs lead to), size (rows of the component), and keep, which is true for one
row of each: what remains when near duplicates are removed. Formats: .parquet, .csv,
.jsonl, .npz, or .npy for the labels alone, which are those that
scipy.sparse.csgraph.connected_components returns. With --with there are rows of both
sides: a column side says a or b, and components count the rows of b after those of a.

--filter EXPRESSION says by other columns of the file of --vectors which of them are in pairs
(docs/filters.md).

Before the search the number of pairs is estimated from a sample; above --max-pairs
nothing is begun. If more are found than estimated the search stops there, and --resume
with a greater --max-pairs continues it, as after a kill.`,
		Example: `  thresher pairs --vectors docs.parquet --metric cosine --min-score .95 --out pairs.parquet \
    --components clusters.parquet
  thresher pairs --vectors products.npy --with offers.npy --metric cosine --min-score .8 --out matches.csv`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.limit.read(cmd.Flags()); !f.limit.minGiven {
				return errors.New("pairs: --min-score, or --max-distance with --metric l2, says which pairs are wanted")
			}
			return a.runPairs(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.atoms, "vectors", "", atomsHelp)
	fs.StringVar(&f.atomsColumn, vectorsColumnFlag, "", columnHelp("the vectors"))
	a.reading.add(fs)
	f.dtype.add(fs)
	f.filter.addTo(fs, partHelp)
	fs.StringVar(&f.with, "with", "", "`file` of other vectors, read as a stream, of which the pairs with the vectors are wanted"+setHelp+"; - is standard input")
	fs.StringVar(&f.withColumn, "with-column", "", columnHelp("these vectors"))
	fs.StringVar(&f.ids, "ids", "", "`column` of ids in both files, written next to row numbers (default: the column id, if there is one)")
	fs.Float64Var(&f.limit.least, "min-score", 0, "least `score` of a pair")
	fs.Float64Var(&f.limit.least, "max-distance", 0, "with --metric l2, in its place: greatest squared distance of a pair")
	fs.StringVar(&f.out, "out", "", "`file` for the pairs, ending in "+endings(dataset.RowsWritten, "or"))
	fs.StringVar(&f.components, "components", "", "`file` for the connected components of the pairs, ending in "+endings(dataset.LabelsWritten, "or"))
	fs.Int64Var(&f.maxPairs, "max-pairs", 1e9, "stop if there are more pairs; 0 is no limit")
	fs.BoolVar(&f.resume, "resume", false, "continue a run that was killed; keeps FILE.progress at the end, so that the same command, given again, finds that all is done")
	fs.BoolVar(&f.force, "overwrite", false, "overwrite outputs")
	fs.BoolVar(&f.json, "json", false, "summary as one JSON object on stdout")
	addSettings(cmd, "method", "metric", "basis", "backend", "device", "delta", "seed", "threads", "chunk", "dense_limit", "read_limit", "cache", "cache_limit", "kernels", "costs")
	refusePublishedFlags(cmd)
	fs.Lookup("method").DefValue = certainByDefault
	fs.Lookup("chunk").Usage = "most rows that are compared with the vectors together"
	return cmd
}

// check rejects conflicting flags before anything is read.
func (f *pairsFlags) check() error {
	switch {
	case f.atoms == "":
		return errors.New("pairs: --vectors names the file of vectors")
	case f.out == "" || f.out == cli.Stdio:
		return fmt.Errorf("pairs: --out names the file for the pairs, ending in %s", endings(dataset.RowsWritten, "or"))
	case stdinInputs(f.atoms, f.with) > 1:
		return errors.New("pairs: only one input can be standard input")
	case f.resume && f.force:
		return errors.New("pairs: --resume and --overwrite exclude each other")
	case f.maxPairs < 0:
		return fmt.Errorf("pairs: --max-pairs %d is negative", f.maxPairs)
	case math.IsNaN(f.limit.least) || math.IsInf(f.limit.least, 0):
		return fmt.Errorf("pairs: --%s %g is not finite", f.limit.minFlag, f.limit.least)
	case f.components != "" && filepath.Clean(f.components) == filepath.Clean(f.out):
		return fmt.Errorf("pairs: %s is named for pairs and components", f.out)
	}
	for _, out := range []string{f.out, f.components} {
		written, err := os.Stat(out)
		if err != nil {
			continue // missing: nothing to protect
		}
		for _, in := range []string{f.atoms, f.with} {
			read, err := os.Stat(in)
			if err == nil && os.SameFile(read, written) {
				return fmt.Errorf("pairs: %s is an input and would be overwritten", out)
			}
		}
	}
	return nil
}

// pairing is one run of the command.
type pairing struct {
	*app
	flags   *pairsFlags
	in      struct{ atoms, with input }
	engine  *engine
	with    dataset.Reader // nil without --with
	files   *pairFiles
	options join.PairOptions
	search  *tasks.PairSearch
	summary pairsSummary
}

func (a *app) runPairs(ctx context.Context, f *pairsFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.filter.parse(); err != nil {
		return err
	}
	p := &pairing{app: a, flags: f, options: join.PairOptions{MinScore: f.limit.least, Method: a.certainMethod(), Delta: a.Config.Delta, Rows: a.Config.Chunk}}
	if err := checkPublished("pairs", a.Config, p.options.Method); err != nil {
		return err
	}
	if p.files, err = newPairFiles(f); err != nil {
		return err
	}
	if p.in.atoms, err = a.openVectors(ctx, "vectors", f.atoms); err != nil {
		return err
	}
	defer p.in.atoms.remove()
	p.in.atoms.ids, p.in.atoms.except = f.ids, f.filter.columns()
	if err := p.in.atoms.checkColumns("filter", f.filter.columns()); err != nil {
		return err
	}
	if f.with != "" {
		if p.in.with, err = a.openVectors(ctx, "with", f.with); err != nil {
			return err
		}
		defer p.in.with.remove()
		if err := p.openWith(); err != nil {
			return err
		}
		defer p.with.Close()
	}
	if err := p.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.engine.close()) }()
	if err := p.foreseen(ctx); err != nil {
		return err
	}
	if err := p.find(ctx); err != nil {
		return err
	}
	return p.report()
}

// openWith opens the other vectors, which must fit the atoms.
func (p *pairing) openWith() error {
	in := p.in.with
	if in.isCollection() {
		return fmt.Errorf("--with %s: is a prepared collection, which serves as --vectors; name a file of vectors", in.name)
	}
	in, err := p.in.atoms.alike(in, p.flags.atomsColumn)
	if err != nil {
		return err
	}
	in.except = p.flags.filter.columns()
	p.in.with = in
	r, err := in.open(&dataset.Options{Column: p.flags.withColumn, IDs: p.flags.ids, FindIDs: true})
	if err != nil {
		return err
	}
	if err := p.in.atoms.fits(&dataset.Options{Column: p.flags.atomsColumn, IDs: p.flags.ids}, in, r.Dim()); err != nil {
		r.Close()
		return err
	}
	p.with = r
	return nil
}

// checkReach returns an error if no pair can have the least score.
func (p *pairing) checkReach(m collection.Metric) error {
	if err := p.flags.limit.check(m); err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	var e *batch.RequestError
	if err := p.options.Check(m); !errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("pairs: --%s %w", p.flags.limit.minFlag, e.Err)
}

// prepare loads the atoms and starts the engine, which the caller closes.
func (p *pairing) prepare(ctx context.Context) error {
	columns := &dataset.Options{Column: p.flags.atomsColumn, IDs: p.flags.ids, FindIDs: true}
	e, err := p.openEngine(ctx, p.in.atoms, columns, demand{method: p.options.Method, queries: p.rowsWith(), joins: true, dtype: p.flags.dtype.Elem}, func(a *atoms) (batch.Request, error) {
		if err := p.checkReach(a.Metric); err != nil {
			return batch.Request{}, err
		}
		var err error
		p.options.Filter, err = p.flags.filter.rows(ctx, p.app, p.in.atoms, p.flags.atomsColumn, a.columns, a.N)
		return batch.Request{Method: p.options.Method, Delta: p.options.Delta, MinScore: &p.options.MinScore, Filter: p.options.Filter}, err
	})
	if err != nil {
		return err
	}
	p.engine = e
	p.summary = pairsSummary{
		Atoms: e.atoms.N, Filtered: p.flags.filter.filtered(p.options.Filter), Dimension: e.atoms.Dim, columnsRead: columnsOf(e.atoms.columns, p.with),
		LoadSeconds: e.atoms.load.Seconds(), BuildSeconds: e.atoms.build.Seconds(), Threads: e.threads(), Backend: e.Backend(),
	}
	p.Log.Info("vectors ready", "vectors", e.atoms.N, "dimension", e.atoms.Dim, "load", e.atoms.load, "build", e.atoms.build)
	return nil
}

// rowsWith is the number of rows of --with, -1 if unknown.
func (p *pairing) rowsWith() int64 {
	if p.with == nil {
		return -1
	}
	return p.with.Len()
}

// foreseen begins the search, unless a sample says that there are too many pairs.
func (p *pairing) foreseen(ctx context.Context) error {
	o := tasks.PairOptions{PairOptions: p.options, MaxPairs: p.flags.maxPairs}
	if p.with != nil {
		p.with = dataset.RelativeTo(p.with, p.engine.atoms.block.QueryOrigin())
		o.With, o.Stored = p.with, true
	}
	var err error
	if p.search, err = tasks.NewPairSearch(ctx, p.engine.Engine, o); err != nil {
		return p.located(err)
	}
	found := p.search.Summary(nil)
	p.summary.PairsFound, p.summary.Warnings = found.PairsFound, found.Warnings
	if p.with != nil {
		return nil
	}
	f := p.search.Forecast()
	p.Log.Info("pairs expected", "pairs", f.About, "sample", f.Sample)
	if f.TooMany {
		return fmt.Errorf("--max-pairs %d: by a sample of %d vectors %s pairs of %s %s; move --%s or raise --max-pairs",
			p.flags.maxPairs, f.Sample, f.About, p.in.atoms.name, p.summary.Reach(), p.flags.limit.minFlag)
	}
	if f.Share {
		n := float64(p.engine.atoms.N)
		p.Log.Warn("a great share of all pairs is expected; see --"+p.flags.limit.minFlag, "pairs", f.About, "of", n*(n-1)/2)
	}
	return nil
}
