package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/tasks"
)

type pursuitFlags struct {
	atoms, atomsColumn     string
	signals, signalsColumn string
	ids, out               string
	terms                  int
	nonnegative            bool
	resume, force, json    bool
	dtype                  dtypeFlag
}

func newPursuitCommand(a *app) *cobra.Command {
	f := &pursuitFlags{}
	cmd := &cobra.Command{
		Use:   "pursuit --vectors FILE --signals FILE --terms N",
		Short: "Write signals as sums of few vectors: matching pursuit",
		Long: `Write each signal as a sum of few vectors, the rows of --vectors, by matching pursuit: find
the vector with the largest |inner product| with what is left of the signal, relative to the
vector's length; subtract its share; repeat, --terms times. A file of one row is one signal.

Vectors need not have length 1. They are found by their directions, and the coefficient of a
vector v is <r, v>/|v|^2 for the rest r, so that signal and sum of coefficients times vectors, as
they are in the file, differ by the residual. A vector of zeros has no direction and is
refused. --nonnegative allows only positive coefficients.

--out gets a row for each term: signal, step, atom (row numbers of signal and vector; signal_id and atom_id where
the files have ids), coefficient, residual (length of what is left after the step) and pulls
(coordinates of vectors read for it). Formats: .jsonl, .csv, .parquet, .npz, or JSON lines on
stdout. A signal of which nothing is left has fewer terms. The terms found are kept next to
--out until all are; --resume continues a run that was killed.

Each step is a search; --method certain and exact always take the best vector of the residual
as float32 holds it. By others a signal has a step that does not with probability at most
delta, all its steps together. --sigma of the published methods is about products of a
coordinate of the residual and one of a vector, each divided by the vector's length.`,
		Example: `  thresher pursuit --vectors notes.npy --signals song.npy --terms 5
  thresher pursuit --vectors vectors.npy --signals spectra.parquet --terms 10 --nonnegative --out terms.csv`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runPursuit(cmd.Context(), f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.atoms, "vectors", "", "`file` of vectors"+setHelp+"; or a collection made by build with --metric cosine; - is standard input")
	fs.StringVar(&f.atomsColumn, vectorsColumnFlag, "", columnHelp("the vectors"))
	fs.StringVar(&f.signals, "signals", "", "`file` of signals, one a row"+setHelp+"; - is standard input")
	fs.StringVar(&f.signalsColumn, "signals-column", "", columnHelp("the signals"))
	a.reading.add(fs)
	f.dtype.add(fs)
	fs.StringVar(&f.ids, "ids", "", "`column` of the vectors' ids, written next to row numbers (default: the column id, if there is one)")
	fs.StringVar(&f.out, "out", cli.Stdio, "`file` for the terms, ending in "+endings(dataset.RowsWritten, "or")+"; - is JSON lines on stdout")
	fs.IntVar(&f.terms, "terms", 0, "most terms of a signal")
	fs.BoolVar(&f.nonnegative, "nonnegative", false, "only vectors with positive coefficients")
	fs.BoolVar(&f.resume, "resume", false, "continue a run that was killed; keeps FILE.progress at the end, so that the same command, given again, finds that all is done")
	fs.BoolVar(&f.force, "overwrite", false, "overwrite the output")
	fs.BoolVar(&f.json, "json", false, "summary as one JSON object on stdout")
	addSettings(cmd, append(batch.PublishedNames(), "method", "basis", "backend", "device", "delta", "seed", "threads", "chunk", "dense_limit", "read_limit", "cache", "cache_limit", "kernels", "costs")...)
	fs.Lookup("method").DefValue = certainByDefault
	fs.Lookup("chunk").Usage = "most signals that are pursued together"
	return cmd
}

// check rejects conflicting flags before anything is read.
func (f *pursuitFlags) check() error {
	switch {
	case f.atoms == "" || f.signals == "":
		return errors.New("pursuit: --vectors and --signals name the files of vectors and signals")
	case stdinInputs(f.atoms, f.signals) > 1:
		return errors.New("pursuit: only one input can be standard input")
	case f.terms < 1:
		return fmt.Errorf("pursuit: --terms %d: give the number of terms, at least 1", f.terms)
	case f.resume && f.force:
		return errors.New("pursuit: --resume and --overwrite exclude each other")
	case f.resume && f.out == cli.Stdio:
		return errors.New("pursuit: --resume needs the --out file of the run that stopped")
	case f.json && f.out == cli.Stdio:
		return errors.New("pursuit: --json puts the summary on stdout, where the terms go; name an --out file")
	}
	return nil
}

// pursuing is one run of the command.
type pursuing struct {
	*app
	flags   *pursuitFlags
	format  dataset.Format
	in      struct{ atoms, signals input }
	reader  dataset.Reader // of the signals
	engine  *engine
	options tasks.PursuitOptions
	pursuit *tasks.Pursuit
	names   *dataset.IDs // of the signals; nil without
	resumed int64        // signals of a former run
}

// pursuitSummary is the report at the end of pursuit.
type pursuitSummary struct {
	Atoms     int    `json:"vectors"`
	Dimension int    `json:"dim"`
	Columns   string `json:"vector_columns,omitempty"`
	*tasks.PursuitSummary
	Resumed      int64    `json:"resumed"`
	LoadSeconds  float64  `json:"load_seconds"`
	BuildSeconds float64  `json:"build_seconds"`
	Threads      int      `json:"threads"`
	Backend      string   `json:"backend"`
	GPUUnused    []string `json:"gpu_unused,omitempty"`
	Output       string   `json:"output"`
}

func (a *app) runPursuit(ctx context.Context, f *pursuitFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	p := &pursuing{app: a, flags: f, format: dataset.JSONL}
	if f.out != cli.Stdio {
		if p.format, err = tableFormat("out", f.out, dataset.RowsWritten); err != nil {
			return err
		}
		if err := cli.RefuseFolders(f.out, p.progress(), p.log()); err != nil {
			return err
		}
		if err := refuseFormer(p.progress(), f.resume, f.force, f.out, p.log()); err != nil {
			return err
		}
	}
	if p.in.atoms, err = a.openVectors(ctx, "vectors", f.atoms); err != nil {
		return err
	}
	defer p.in.atoms.remove()
	p.in.atoms.ids = f.ids
	if p.in.signals, err = a.openVectors(ctx, "signals", f.signals); err != nil {
		return err
	}
	defer p.in.signals.remove()
	if err := p.refuseInput(); err != nil {
		return err
	}
	if err := p.openSignals(); err != nil {
		return err
	}
	defer p.reader.Close()
	if err := p.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.engine.close()) }()
	if err := p.pursue(ctx); err != nil {
		return err
	}
	return p.report()
}

// refuseInput refuses an output that is one of the inputs.
func (p *pursuing) refuseInput() error {
	written, err := os.Stat(p.flags.out)
	if p.flags.out == cli.Stdio || err != nil {
		return nil // nothing there to protect
	}
	for _, in := range []input{p.in.atoms, p.in.signals} {
		for _, path := range in.paths() {
			if read, err := os.Stat(path); err == nil && os.SameFile(read, written) {
				return fmt.Errorf("pursuit: %s is an input and would be overwritten", p.flags.out)
			}
		}
	}
	return nil
}

// openSignals opens the signals, which must fit the atoms.
func (p *pursuing) openSignals() error {
	in := p.in.signals
	if in.isCollection() {
		return fmt.Errorf("--signals %s: is a prepared collection, which serves as --vectors; name a file of vectors", in.name)
	}
	in, err := p.in.atoms.alike(in, p.flags.atomsColumn)
	if err != nil {
		return err
	}
	p.in.signals = in
	if p.reader, err = in.open(p.signalOptions()); err != nil {
		return err
	}
	if err := p.in.atoms.fits(&dataset.Options{Column: p.flags.atomsColumn, IDs: p.flags.ids}, in, p.reader.Dim()); err != nil {
		return errors.Join(err, p.reader.Close())
	}
	return nil
}

// signalOptions say how signals are read.
func (p *pursuing) signalOptions() *dataset.Options {
	return &dataset.Options{Column: p.flags.signalsColumn, FindIDs: true, OneRow: true}
}

// prepare loads the atoms and starts the engine, which the caller closes.
func (p *pursuing) prepare(ctx context.Context) error {
	f, c := p.flags, p.Config
	published, err := publishedOptions(c)
	if err != nil {
		return err
	}
	o := tasks.PursuitOptions{Terms: f.terms, Method: p.certainMethod(), Delta: c.Delta, Published: published, Nonnegative: f.nonnegative}
	c.Metric = collection.Cosine.String() // atoms are found by their directions
	queries := int64(-1)
	if n := p.reader.Len(); n >= 0 {
		queries = 2 * n * int64(f.terms)
	}
	columns := &dataset.Options{Column: f.atomsColumn, IDs: f.ids, FindIDs: true}
	e, err := p.openEngine(ctx, p.in.atoms, columns, demand{method: o.Method, k: 1, queries: queries, dtype: f.dtype.Elem}, func(*atoms) (batch.Request, error) {
		return batch.Request{K: 1, Method: o.Method, Delta: c.Delta, Published: published}, nil
	})
	if err != nil {
		return err
	}
	p.engine, p.options = e, o
	if p.pursuit, err = tasks.NewPursuit(e.atoms.block, e.Engine, o); err != nil {
		return errors.Join(p.located(err, 0), e.close())
	}
	p.Log.Info("vectors ready", "vectors", e.atoms.N, "dimension", e.atoms.Dim, "load", e.atoms.load, "build", e.atoms.build)
	return nil
}

// report prints the summary.
func (p *pursuing) report() error {
	e := p.engine
	s := &pursuitSummary{
		Atoms: e.atoms.N, Dimension: e.atoms.Dim, Columns: e.atoms.columns.String(), PursuitSummary: p.pursuit.Summary(), Resumed: p.resumed,
		LoadSeconds: e.atoms.load.Seconds(), BuildSeconds: e.atoms.build.Seconds(), Threads: e.threads(), Backend: e.Backend(),
		GPUUnused: e.unusedGPUs(), Output: p.flags.out,
	}
	if p.flags.json {
		return json.NewEncoder(p.Out).Encode(s)
	}
	return s.print(p.app)
}

// print writes the summary as a table.
func (s *pursuitSummary) print(a *app) error {
	t := cli.NewTable(a.Err)
	t.Row("vectors", fmt.Sprintf("%d x %d", s.Atoms, s.Dimension))
	columnsRead{VectorColumns: s.Columns}.print(t)
	t.Row("signals", fmt.Sprintf("%d, %d terms", s.Signals, s.Terms))
	if s.Resumed > 0 {
		t.Row("resumed", fmt.Sprintf("%d signals of an earlier run", s.Resumed))
	}
	t.Row("residual", fmt.Sprintf("%.3g of the signals' length", s.Residual))
	t.Row("read", fmt.Sprintf("%s, %d rows scored in full", describeRead(s.Saving, "the data"), s.RowsScored))
	t.Row("method", s.Method)
	t.Row("guarantee", s.Promise)
	t.Row("time", fmt.Sprintf("load %s, build %s, search %s", seconds(s.LoadSeconds), seconds(s.BuildSeconds), seconds(s.SearchSeconds)))
	t.Row("computing", (&summary{Threads: s.Threads, Backend: s.Backend}).computing())
	printUnusedGPUs(t, s.GPUUnused)
	if s.Output != cli.Stdio {
		t.Row("output", s.Output)
	}
	for _, w := range s.Warnings {
		t.Row("warning", w)
	}
	return t.Flush()
}
