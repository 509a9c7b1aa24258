package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/verify"
)

type benchFlags struct {
	atoms, queries string
	// atomsColumn and queriesColumn name the columns of the vectors.
	atomsColumn, queriesColumn string

	sets         []string
	ks           []int
	count        int
	repeats      int
	pulls, plans bool
	calibrate    bool
	json         bool
	setGiven     bool // --set was given
}

func newBenchCommand(a *app) *cobra.Command {
	f := &benchFlags{}
	cmd := &cobra.Command{
		Use:   "bench [--pulls | --plans | --calibrate] [--vectors FILE --queries FILE | --set NAME[:VECTORSxDIMENSION],...] [--metric NAME]",
		Short: "Time the methods against the dense scan, or count what they read",
		Long: `Time adaptive and certain against the dense scan, interleaved in one run, so that
the ratios hold on a busy machine; or, with --pulls, count the coordinates that each
method reads, which does not depend on the machine.

With --plans, time every ladder of looks that the planner considers, the scan of all
codes, the dense scan, and the planner's choice: regret is the time of the choice
divided by that of the best. Predicted and measured times are in ns of one core for
each vector and query (processor time where the system reports it). The planner
predicts for many queries, so --count should be 64 or more.

With --calibrate, measure the planner's cost table again and store it for later runs;
with --json, print it in the format that --costs reads.

Wrong answers are counted against float64 scores of all vectors.

Generated sets: gaussian (iid normal, hard), embeddings (power-law spectrum) and
normal-custom (arXiv 2212.07551).`,
		Example: `  thresher bench --vectors A.npy --queries Q.npy --metric cosine
  thresher bench --plans --vectors A.npy --queries Q.npy --metric ip --ks 1,10,100 --count 128
  thresher bench --pulls --set normal-custom:1000x64000 --metric ip -k 1 --count 16 --sigma 1
  thresher bench --calibrate --json > costs.json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.setGiven = cmd.Flags().Changed("set")
			return a.runBench(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.atoms, "vectors", "", "`file` of vectors"+setHelp)
	fs.StringVar(&f.atomsColumn, vectorsColumnFlag, "", columnHelp("the vectors"))
	fs.StringVar(&f.queries, "queries", "", "`file` of queries"+setHelp)
	fs.StringVar(&f.queriesColumn, "queries-column", "", columnHelp("the queries"))
	a.reading.add(fs)
	fs.StringSliceVar(&f.sets, "set", []string{"embeddings"}, "generated `sets` instead of files")
	fs.IntSliceVarP(&f.ks, "ks", "k", []int{1, 10}, "numbers of vectors wanted")
	fs.IntVar(&f.count, "count", 64, "queries to use, from the first")
	fs.IntVar(&f.repeats, "repeats", 5, "timed rounds")
	fs.BoolVar(&f.pulls, "pulls", false, "count coordinates and bytes instead of timing")
	fs.BoolVar(&f.plans, "plans", false, "time the ladders that the planner chooses from")
	fs.BoolVar(&f.calibrate, "calibrate", false, "measure the costs that the planner compares plans by")
	fs.BoolVar(&f.json, "json", false, "one JSON object for each row on stdout")
	addSettings(cmd, append(batch.PublishedNames(), "metric", "delta", "seed", "threads", "backend", "device", "dense_limit", "read_limit", "cache", "cache_limit", "kernels", "costs")...)
	fs.Lookup("backend").Usage += autoIsCPU
	return cmd
}

func (f *benchFlags) check() error {
	if f.pulls && f.plans || f.pulls && f.calibrate || f.plans && f.calibrate {
		return errors.New("bench: --pulls, --plans and --calibrate exclude each other")
	}
	if (f.atoms == "") != (f.queries == "") {
		return errors.New("bench: --vectors and --queries go together")
	}
	if f.atoms != "" && f.setGiven {
		return errors.New("bench: --set excludes --vectors and --queries")
	}
	if f.atoms == cli.Stdio || f.queries == cli.Stdio || (input{path: f.atoms}).isCollection() {
		return errors.New("bench: --vectors and --queries must be files of vectors")
	}
	if f.count < 1 || f.repeats < 1 {
		return fmt.Errorf("bench: --count %d and --repeats %d must be at least 1", f.count, f.repeats)
	}
	for _, k := range f.ks {
		if k < 1 {
			return fmt.Errorf("bench: --ks: %d is below 1", k)
		}
	}
	return nil
}

// benchData is one set of vectors to measure on.
type benchData struct {
	name           string
	n, d, m        int
	atoms, queries []float32
	metric         collection.Metric
	oracle         *verify.Oracle
}

func (a *app) runBench(ctx context.Context, f *benchFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.calibrate {
		return a.calibrate(ctx, f.json)
	}
	sets := make([]benchSet, len(f.sets))
	for i, text := range f.sets {
		var err error
		if sets[i], err = parseBenchSet(text); err != nil {
			return fmt.Errorf("bench: --set: %w", err)
		}
	}
	metric, err := givenMetric(a.Config.Metric, "vectors to measure by have none")
	if err != nil {
		return err
	}
	published, err := publishedOptions(a.Config)
	if err != nil {
		return err
	}
	if given := published.String(); given != "" {
		if !f.pulls {
			return fmt.Errorf("bench: --pulls runs banditmips, which %s is for", given)
		}
		var e *batch.RequestError
		if err := published.Check(batch.BanditMIPS); errors.As(err, &e) {
			name, _ := publishedFlag(e.Field)
			return fmt.Errorf("bench: --%s: %w", name, e.Err)
		}
	}
	var rows benchTable
	switch {
	case f.pulls:
		rows = newPullsTable(a.Out, f.json)
	case f.plans:
		rows = newPlansTable(a.Out, f.json)
	default:
		rows = newTimesTable(a.Out, f.json)
	}
	if f.atoms != "" {
		data, err := a.readBenchData(ctx, f)
		if err != nil {
			return err
		}
		data.metric = metric
		if err := a.measure(ctx, f, published, data, rows); err != nil {
			return err
		}
		return rows.Flush()
	}
	for _, set := range sets {
		data := &benchData{name: set.name, n: set.n, d: set.d, m: f.count, metric: metric}
		data.atoms, data.queries = set.generate(f.count, a.Config.Seed)
		if err := a.measure(ctx, f, published, data, rows); err != nil {
			return err
		}
	}
	return rows.Flush()
}

// benchTable receives results one by one.
type benchTable interface {
	add(benchRow) error
	Flush() error
}

func (a *app) measure(ctx context.Context, f *benchFlags, published batch.Published, data *benchData, rows benchTable) error {
	first, err := a.openBackend()
	if err != nil {
		return err
	}
	threads := max(1, backend.Describe(first).Threads)
	if data.oracle, err = verify.NewOracle(data.atoms, data.d, data.metric, threads); err != nil {
		return errors.Join(err, first.Close())
	}
	b := &bench{app: a, flags: f, backend: first, threads: threads, data: data, rows: rows, published: published}
	if b.costs, err = a.costs(ctx, first); err != nil {
		return errors.Join(err, first.Close())
	}
	switch {
	case f.pulls:
		err = b.pulls(ctx)
	case f.plans:
		err = b.plans(ctx)
	default:
		err = b.times(ctx)
	}
	return errors.Join(err, first.Close())
}

// readBenchData reads the atoms and the first queries of two files.
func (a *app) readBenchData(ctx context.Context, f *benchFlags) (*benchData, error) {
	in, err := a.openVectors(ctx, "vectors", f.atoms)
	if err != nil {
		return nil, err
	}
	defer in.remove()
	atoms, _, err := in.readAll(ctx, &dataset.Options{Column: f.atomsColumn, FindIDs: true})
	if err != nil {
		return nil, err
	}
	queries, err := a.openVectors(ctx, "queries", f.queries)
	if err != nil {
		return nil, err
	}
	defer queries.remove()
	if queries, err = in.alike(queries, f.atomsColumn); err != nil {
		return nil, err
	}
	r, err := queries.openQueries(f.queriesColumn)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.Dim() != atoms.Dim {
		return nil, fmt.Errorf("%s has vectors of dimension %d, %s of dimension %d", f.atoms, atoms.Dim, f.queries, r.Dim())
	}
	asked, m, err := newQueryChunks(queries, r, f.count).Next(ctx)
	if err == io.EOF {
		return nil, fmt.Errorf("%s: no queries", f.queries)
	}
	if err != nil {
		return nil, err
	}
	return &benchData{name: f.atoms, n: atoms.Rows, d: atoms.Dim, m: m, atoms: atoms.Data, queries: asked.values}, nil
}

// benchRow is one result.
type benchRow struct {
	Data    string       `json:"data"`
	Vectors int          `json:"vectors"`
	Dim     int          `json:"dimension"`
	Queries int          `json:"queries"`
	K       int          `json:"k"`
	Method  batch.Method `json:"method"`
	Basis   string       `json:"basis"`
	// Wrong counts queries whose set of atoms is not a correct one; -1 means unknown.
	Wrong int `json:"wrong"`
	// Saving is n d divided by the number of coordinates read, BytesSaving 4 n d divided by
	// the bytes read, Rows the number of rows scored in full for each query.
	Saving      float64 `json:"saving"`
	BytesSaving float64 `json:"bytes_saving"`
	Rows        float64 `json:"rows_scored"`
	// Seconds is the median time of a search of all queries, Ratio the median over rounds of
	// the dense scan's time divided by this method's.
	Seconds float64 `json:"seconds,omitempty"`
	Ratio   float64 `json:"ratio,omitempty"`
	// Measured is the time of a search in ns of one core for each pair of an atom and a
	// query, Survivors the share of atoms left after each look. If plans are timed, Plan is
	// the plan, Guarantee its guarantee, Predicted the predicted time; Chosen marks the
	// planner's choice, and its Regret is its time divided by the best plan's.
	Plan      string          `json:"plan,omitempty"`
	Guarantee batch.Guarantee `json:"guarantee,omitempty"`
	Predicted float64         `json:"predicted_ns,omitempty"`
	Measured  float64         `json:"measured_ns,omitempty"`
	Survivors []float64       `json:"survivors,omitempty"`
	Chosen    bool            `json:"chosen,omitempty"`
	Regret    float64         `json:"regret,omitempty"`
	// Refused says why the method cannot be used on these data.
	Refused string `json:"refused,omitempty"`
}
