package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"thresher/batch"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/tasks"
)

type recallFlags struct {
	vectorFlags
	goalFlags
	ids             string
	answers, misses string
	k               int
	sample          int64
	excludeSelf     bool
	failUnder       float64 // 0: never
	force, json     bool
	dtype           dtypeFlag
}

func newRecallCommand(a *app) *cobra.Command {
	f := &recallFlags{}
	cmd := &cobra.Command{
		Use:   "recall --vectors FILE --queries FILE [--metric NAME] --answers FILE",
		Short: "Measure the recall of answers of any origin",
		Long: `Measure recall@k of anybody's answers: an index's, a database's, your own.

The k best vectors of each query, or of a --sample, are found by elimination (--method
certain unless told otherwise) and compared with the answers. A vector counts as found
if it is one of them, or ties with the k-th best and one that does is missing. The
report has the mean recall with a 95% confidence interval, the misses by rank, how
much better the missed vectors are than those returned in their place, and which stated
scores are not the vectors' (inner products, cosines or distances in any usual form).
Where something explains most of what answers lack, such as ids that count from 1 or
another metric, the report says why, with the evidence.

Answers are in the order of the queries. Their ids are row numbers of the vectors or,
where the vectors have an id column, its ids. --missed lists what each answer lacks.
With --fail-under the exit code is 1 if the mean recall is less.

With --exclude, --k-column, --filter-column and the like the vectors wanted are those that search finds with
the same flags; others do not count as found. Of answers that have the query itself
first, of k + 1 vectors, --exclude-self -k K compares the others.`,
		Example: `  thresher recall --vectors A.npy --queries Q.npy --metric cosine --answers theirs.npz
  thresher recall --vectors A.npy --queries Q.npy --metric cosine --answers theirs.npz --sample 1000 --fail-under .95`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.scoreLimits.read(cmd.Flags())
			return a.runRecall(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	f.vectorFlags.add(fs)
	f.goalFlags.add(fs)
	a.reading.add(fs)
	f.dtype.add(fs)
	fs.StringVar(&f.ids, "ids", "", "`column` of the vectors' ids (default: the column id, if there is one)")
	fs.StringVar(&f.answers, "answers", "", "`file` of answers ("+endingsOf(dataset.AnswersRead)+", .json); - is standard input")
	fs.StringVar(&f.misses, "missed", "", "`file` (.jsonl) for the recall and the missed vectors of every answer that lacks some")
	fs.IntVarP(&f.k, "k", "k", 0, "vectors wanted of each query; 0 = the length of the longest answer")
	fs.Int64Var(&f.sample, "sample", 0, "compare this many queries, drawn by --seed; 0 = all")
	fs.BoolVar(&f.excludeSelf, "exclude-self", false, "query j is vector j, is not among the vectors wanted, and does not count where an answer has it")
	fs.Float64Var(&f.failUnder, "fail-under", 0, "exit code 1 if the mean recall of the answers compared is less than this, in (0, 1]; 0 = never")
	fs.BoolVar(&f.force, "overwrite", false, "overwrite the file of --missed")
	fs.BoolVar(&f.json, "json", false, "report as one JSON object on stdout")
	addSettings(cmd, append(recallSettings(), batch.PublishedNames()...)...)
	fs.Lookup("method").DefValue = certainByDefault
	fs.Lookup("seed").Usage = "seed that draws the queries of --sample and the rotation"
	return cmd
}

func recallSettings() []string {
	keys := searchSettings()
	return slices.DeleteFunc(keys, func(key string) bool { return key == "k" || key == "epsilon" })
}

func (f *recallFlags) check() error {
	switch {
	case f.atoms == "" || f.queries == "" || f.answers == "":
		return errors.New("recall: --vectors, --queries and --answers name the files to compare")
	case stdinInputs(f.atoms, f.queries, f.answers, f.exclude) > 1:
		return errors.New("recall: only one of --vectors, --queries, --answers and --exclude can be standard input")
	case f.sample < 0:
		return fmt.Errorf("recall: --sample %d is negative", f.sample)
	case f.k < 0:
		return fmt.Errorf("recall: -k %d is negative", f.k)
	case !(f.failUnder >= 0 && f.failUnder <= 1):
		return fmt.Errorf("recall: --fail-under %g is not a recall, from 0 to 1", f.failUnder)
	}
	return nil
}

// recall is one run of the command.
type recall struct {
	*app
	*judged
	longest   int // atoms of the longest answer
	flags     *recallFlags
	answersIn input
	method    batch.Method
	// published are options of a published method.
	published batch.Published
	engine    *engine
	compare   *tasks.Comparison
	misses    *missFile // nil without --missed
	// queryIDs are the ids of the queries of the part that is compared, by their numbers from firstQuery on; nil if
	// the file has none.
	queryIDs   []string
	firstQuery int64
	goals      *queryGoals // nil if all queries ask for the same
	filter     []int64     // rows, nil for all
	report     recallSummary
}

// recallSummary is what recall prints.
type recallSummary struct {
	columnsRead
	Answers int64 `json:"answers"` // in the file
	tasks.Filtered
	// GPUUnused says of each GPU that is there and does not search why, and what to do about it.
	GPUUnused []string `json:"gpu_unused,omitempty"`
	*tasks.RecallSummary
}

func (a *app) runRecall(ctx context.Context, f *recallFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.parseFilters(); err != nil {
		return err
	}
	r := &recall{app: a, flags: f, method: a.certainMethod()}
	if err := checkPublished("recall", a.Config, r.method); err != nil {
		return err
	}
	if r.published, err = publishedOptions(a.Config); err != nil {
		return err
	}
	vectors, err := a.openSearched(ctx, f.atoms, r.method)
	if err != nil {
		return err
	}
	if r.judged, err = a.openJudged(ctx, &f.vectorFlags, vectors, f.ids, f.filterColumn, append(f.columns(), f.filter.columns()...)); err != nil {
		return err
	}
	defer r.judged.close()
	if err := r.fit(); err != nil {
		return err
	}
	if err := r.vectors.checkColumns("filter", f.filter.columns()); err != nil {
		return err
	}
	if r.answersIn, err = r.answers(ctx, a, f.answers); err != nil {
		return err
	}
	defer r.answersIn.remove()
	var exclude input
	if f.goalFlags.exclude != "" {
		if exclude, err = a.openInput(ctx, "exclude", f.goalFlags.exclude); err != nil {
			return err
		}
		defer exclude.remove()
	}
	if err := r.survey(ctx); err != nil {
		return err
	}
	metric, err := r.vectors.metric(a.Config.Metric)
	if err != nil {
		return err
	}
	if r.goals, err = a.openGoals(ctx, &f.goalFlags, r.queries, exclude, r.report.Answers, f.k, metric); err != nil {
		return err
	}
	if r.goals != nil {
		defer r.goals.Close()
		f.k = max(1, r.goals.maxK)
	}
	if f.misses != "" {
		if r.misses, err = createMisses(f.misses, f.force); err != nil {
			return err
		}
		defer r.misses.discard()
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.engine.close()) }()
	if err := r.run(ctx, newQueryChunks(r.queries, r.rows, a.Config.Chunk).forAtoms(r.engine.atoms).forAnswers(r.longest)); err != nil {
		return err
	}
	if err := r.print(); err != nil {
		return err
	}
	return r.verdict()
}

// verdict is the error of a recall below --fail-under.
func (r *recall) verdict() error {
	if r.report.Recall >= r.flags.failUnder {
		return nil
	}
	return cli.Exit(cli.ExitWrong, fmt.Errorf("recall %.6g, less than --fail-under %g", r.report.Recall, r.flags.failUnder))
}

// survey counts the answers and, without -k, determines k from them.
func (r *recall) survey(ctx context.Context) (err error) {
	r.report.Answers, r.longest, r.flags.k, err = surveyWanted(ctx, r.answersIn, r.flags.k)
	return err
}

// prepare loads the atoms and starts the engine, which the caller closes.
func (r *recall) prepare(ctx context.Context) error {
	m := r.rows.Len()
	if r.flags.sample > 0 {
		m = min(r.report.Answers, r.flags.sample)
	}
	e, err := r.openEngine(ctx, r.vectors, r.layout, demand{method: r.method, k: r.flags.k, queries: m, dtype: r.flags.dtype.Elem}, func(a *atoms) (batch.Request, error) {
		var err error
		if r.filters != nil {
			if err := r.filters.prepare(ctx, r.app, r.vectors, r.flags.atomsColumn, a.columns, a.N); err != nil {
				return batch.Request{}, err
			}
		}
		r.filter, err = r.flags.filter.rows(ctx, r.app, r.vectors, r.flags.atomsColumn, a.columns, a.N)
		return batch.Request{K: r.flags.k, Method: r.method, Delta: r.Config.Delta, Published: r.published, Filter: r.filter}, err
	})
	if err != nil {
		return err
	}
	r.engine = e
	r.report.columnsRead, r.report.Filtered = columnsOf(e.atoms.columns, r.rows), r.flags.filtered(r.filter)
	if r.compare, err = newComparison(e.atoms, r.vectors, r.flags.k, r.Config.Threads); err != nil {
		return errors.Join(err, e.close())
	}
	if r.goals == nil {
		return nil
	}
	if err := r.goals.resolve(e.atoms.ids(r.vectors, r.flags.ids), e.atoms.N); err != nil {
		return errors.Join(err, e.close())
	}
	return nil
}

// run reads queries and answers in parallel and compares those drawn.
func (r *recall) run(ctx context.Context, src *queryChunks) error {
	results, err := r.resolved(ctx, r.app, r.answersIn, r.engine.atoms, r.flags.integers)
	if err != nil {
		return err
	}
	defer results.close()
	parts := eachDrawn(ctx, r.drawn(src), func(c *drawnChunk) (*tasks.Part, error) { return r.part(ctx, c, results) })
	r.report.RecallSummary, err = tasks.Recall(ctx, r.compare, parts, r.note)
	var of *tasks.AnswersError
	if errors.As(err, &of) {
		return inAnswers(r.answersIn.name, of)
	}
	return err
}

// note lists the answer in the file of --missed if it lacks atoms.
func (r *recall) note(c *tasks.Compared) error {
	if len(c.Missed) == 0 || r.misses == nil {
		return nil
	}
	id := ""
	if r.queryIDs != nil {
		id = r.queryIDs[c.Query-r.firstQuery]
	}
	return r.misses.write(c, id, r.engine.atoms.names)
}

// drawn are the queries to compare, with what each asks for.
func (r *recall) drawn(src *queryChunks) *drawnQueries {
	d := &drawnQueries{app: r.app, source: src, doing: "comparing", answers: r.answersIn, atoms: r.vectors, total: r.report.Answers, sample: r.flags.sample, goals: r.goals, filters: r.filters}
	if r.flags.excludeSelf {
		d.selves = func(rows *queryRows, first int64) error { return rows.checkSelves(r.engine.atoms, first) }
	}
	return d
}

// part returns the queries drawn of a chunk, with their best atoms and the answers to them; nil if none
// is.
func (r *recall) part(ctx context.Context, of *drawnChunk, results *othersAnswers) (*tasks.Part, error) {
	req := batch.Request{Stored: !r.engine.atoms.Float64(), K: r.flags.k, Method: r.method, Delta: r.Config.Delta, Published: r.published, ExcludeSelf: r.flags.excludeSelf, Filter: r.filter, Part: true}
	if r.goals != nil {
		req.K = r.goals.k
	}
	part := &tasks.Part{Request: &req}
	r.queryIDs, r.firstQuery = of.ids, of.first
	for j := range of.n {
		res, err := results.read()
		if err != nil {
			return nil, err
		}
		if !of.drawn(j) {
			continue
		}
		part.Stated = append(part.Stated, res)
		of.add(&req, j)
	}
	if len(part.Stated) == 0 {
		return nil, nil
	}
	resp, err := r.engine.Search(ctx, req)
	if err != nil {
		return nil, r.queries.located(err, func(j int) int64 { return part.Stated[j].Query })
	}
	part.Proven, part.Took = resp.Answers, resp.Took
	return part, nil
}

// inAnswers names the file in an error of its answers, and says what to do about scores of another
// metric.
func inAnswers(answers string, err *tasks.AnswersError) error {
	if err.OtherMetric {
		return fmt.Errorf("%s: %w; give the metric of the answers as --metric, or answers without scores", answers, err)
	}
	return fmt.Errorf("%s: %w", answers, err)
}

// print reports the comparison and writes the file of --missed.
func (r *recall) print() error {
	r.report.GPUUnused = r.engine.unusedGPUs()
	if r.misses != nil {
		if err := r.misses.commit(r.flags.force); err != nil {
			return err
		}
	}
	if r.flags.json {
		return json.NewEncoder(r.Out).Encode(&r.report)
	}
	return r.report.print(r.Out)
}
