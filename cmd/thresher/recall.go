package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"thresher/batch"
	"thresher/config"
	"thresher/dataset"
	"thresher/verify"
)

type recallFlags struct {
	vectorFlags
	goalFlags
	ids             string
	answers, misses string
	k               int
	sample          int64
	excludeSelf     bool
	force, json     bool
}

func newRecallCommand(a *app) *cobra.Command {
	f := &recallFlags{}
	cmd := &cobra.Command{
		Use:   "recall --atoms FILE --queries FILE --answers FILE",
		Short: "Measure the recall of answers of any origin",
		Long: `Measure recall@k of anybody's answers: an index's, a database's, your own.

The k best atoms of each query, or of a --sample, are found by elimination (--method
certain unless told otherwise) and compared with the answers. An atom counts as found
if it scores at least as much as the k-th best: of atoms that tie, any will do. The
report has the mean recall with a 95% confidence interval, the misses by rank, how
much better the missed atoms are than those returned in their place, and which stated
scores are not the atoms' (inner products, cosines or distances in any usual form).

Answers are in the order of the queries. Their ids are row numbers of the atoms or,
where the atoms have an id column, its ids. --misses lists what each answer lacks.

With --exclude, --k-column and the like the atoms wanted are those that search finds with
the same flags; others do not count as found. Of answers that have the query itself
first, of k + 1 atoms, --exclude-self -k K compares the others.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runRecall(cmd.Context(), f) },
	}
	fs := cmd.Flags()
	f.vectorFlags.add(fs)
	f.goalFlags.add(fs)
	fs.StringVar(&f.ids, "ids", "", "`column` of the atoms' ids (default: the column id, if there is one)")
	fs.StringVar(&f.answers, "answers", "", "`file` of answers (.jsonl, .npz, .npy, .parquet, .ivecs, .ibin, .json, .csv); - is standard input")
	fs.StringVar(&f.misses, "misses", "", "`file` (.jsonl) for the recall and the missed atoms of every answer that lacks some")
	fs.IntVarP(&f.k, "k", "k", 0, "atoms wanted of each query; 0 = the length of the longest answer")
	fs.Int64Var(&f.sample, "sample", 0, "compare this many queries, drawn by --seed; 0 = all")
	fs.BoolVar(&f.excludeSelf, "exclude-self", false, "query j is atom j, is not among the atoms wanted, and does not count where an answer has it")
	fs.BoolVar(&f.force, "force", false, "overwrite the file of --misses")
	fs.BoolVar(&f.json, "json", false, "report as one JSON object on stdout")
	addSettings(cmd, recallSettings()...)
	fs.Lookup("method").Usage += "; certain unless given"
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
		return errors.New("recall: --atoms, --queries and --answers name the files to compare")
	case stdinInputs(f.atoms, f.queries, f.answers, f.exclude) > 1:
		return errors.New("recall: only one of --atoms, --queries, --answers and --exclude can be standard input")
	case f.sample < 0:
		return fmt.Errorf("recall: --sample %d is negative", f.sample)
	case f.k < 0:
		return fmt.Errorf("recall: -k %d is negative", f.k)
	}
	return nil
}

// recall is one run of the command.
type recall struct {
	*app
	longest int // atoms of the longest answer
	flags   *recallFlags
	in      struct{ atoms, queries, answers, exclude input }
	method  batch.Method
	engine  *engine
	oracle  *verify.Oracle
	compare *verify.Recall
	misses  *missFile   // nil without --misses
	goals   *queryGoals // nil if all queries ask for the same
	report  recallSummary
}

// recallSummary is what recall prints.
type recallSummary struct {
	Answers int64        `json:"answers"` // in the file
	Metric  string       `json:"metric"`
	Method  batch.Method `json:"method"`
	Plan    string       `json:"plan"`
	Seconds float64      `json:"search_seconds"`
	// GPUUnused says of each GPU that is there and does not search why, and what to do about it.
	GPUUnused []string `json:"gpu_unused,omitempty"`
	*verify.RecallReport
}

func (a *app) runRecall(ctx context.Context, f *recallFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	r := &recall{app: a, flags: f, method: batch.Method(a.config.Method)}
	if a.config.Origin("method").Kind == config.FromDefault {
		r.method = batch.Certain
	}
	for _, in := range []struct {
		flag, path string
		to         *input
	}{{"atoms", f.atoms, &r.in.atoms}, {"queries", f.queries, &r.in.queries}, {"answers", f.answers, &r.in.answers}} {
		if *in.to, err = a.openInput(ctx, in.flag, in.path); err != nil {
			return err
		}
		defer in.to.remove()
	}
	if f.goalFlags.exclude != "" {
		if r.in.exclude, err = a.openInput(ctx, "exclude", f.goalFlags.exclude); err != nil {
			return err
		}
		defer r.in.exclude.remove()
	}
	queries, err := r.in.queries.openQueries(f.queriesColumn, f.columns()...)
	if err != nil {
		return err
	}
	defer queries.Close()
	if err := r.in.atoms.fits(f.atomsColumn, r.in.queries, queries.Dim()); err != nil {
		return err
	}
	if err := r.survey(ctx); err != nil {
		return err
	}
	metric, err := r.in.atoms.metric(a.config.Metric)
	if err != nil {
		return err
	}
	if r.goals, err = a.openGoals(ctx, &f.goalFlags, r.in.queries, r.in.exclude, r.report.Answers, f.k, metric); err != nil {
		return err
	}
	if r.goals != nil {
		defer r.goals.close()
		f.k = max(1, r.goals.mostK)
	}
	if f.misses != "" {
		if r.misses, err = createMisses(f.misses, f.force); err != nil {
			return err
		}
		defer r.misses.discard()
	}
	if err := r.prepare(ctx, queries); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.engine.close()) }()
	if err := r.run(ctx, newQueryChunks(r.in.queries, queries, a.config.Chunk).forAnswers(r.longest)); err != nil {
		return err
	}
	return r.print()
}

// survey counts the answers and, without -k, determines k from them.
func (r *recall) survey(ctx context.Context) (err error) {
	wanted := r.flags.k
	if r.report.Answers, r.flags.k, err = surveyAnswers(ctx, r.in.answers, 0); err != nil {
		return err
	}
	r.longest = r.flags.k
	if wanted > r.longest {
		return fmt.Errorf("-k %d: the longest answer of %s has %d atoms", wanted, r.in.answers.name, r.longest)
	}
	if wanted > 0 {
		r.flags.k = wanted
	}
	return nil
}

// prepare loads the atoms and starts the engine, which the caller closes.
func (r *recall) prepare(ctx context.Context, queries dataset.Reader) error {
	columns := &dataset.Options{Column: r.flags.atomsColumn, IDs: r.flags.ids, FindIDs: true}
	m := queries.Len()
	if r.flags.sample > 0 {
		m = min(r.report.Answers, r.flags.sample)
	}
	e, err := r.openEngine(ctx, r.in.atoms, columns, demand{method: r.method, k: r.flags.k, queries: m}, func(a *atoms) (batch.Request, error) {
		return batch.Request{K: r.flags.k, Method: r.method, Delta: r.config.Delta}, nil
	})
	if err != nil {
		return err
	}
	r.engine = e
	r.report.Metric, r.report.Method = e.atoms.Metric.String(), r.method
	if r.oracle, err = verify.NewOracle(e.atoms.Rows, e.atoms.Dim, e.atoms.Metric, r.config.Threads); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", r.in.atoms.name, err), e.close())
	}
	r.compare = verify.NewRecall(r.oracle, r.flags.k)
	if r.goals == nil {
		return nil
	}
	ids := &atomIDs{file: r.in.atoms.name, column: r.flags.ids, names: e.atoms.names, preferNames: true}
	if err := r.goals.resolve(ids, e.atoms.N); err != nil {
		return errors.Join(err, e.close())
	}
	return nil
}

// run reads queries and answers in parallel and compares those drawn.
func (r *recall) run(ctx context.Context, src *queryChunks) error {
	results, err := openOthersAnswers(r.in.answers)
	if err != nil {
		return err
	}
	defer results.close()
	results.resolve(r.engine.atoms, r.in.atoms, r.flags.ids)
	drawn := drawSample(r.report.Answers, r.flags.sample, r.config.Seed)
	p := r.newProgress("comparing")
	defer p.done()
	dim := r.engine.atoms.Dim
	var first int64
	for {
		rows, n, err := src.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if r.flags.excludeSelf {
			if err := checkSelves(rows, first, r.engine.atoms.Collection, r.in.queries, r.in.atoms); err != nil {
				return err
			}
		}
		picked := rows[:0] // queries drawn move to the front
		var answers []dataset.Result
		var all, goals []batch.QueryGoal
		if r.goals != nil {
			if all, err = r.goals.read(first, min(n, int(max(0, r.report.Answers-first)))); err != nil {
				return err
			}
		}
		for j := range int64(n) {
			if first+j >= r.report.Answers {
				continue // reported below
			}
			res, err := results.read()
			if err != nil {
				return err
			}
			if drawn(first + j) {
				answers = append(answers, res)
				picked = append(picked, rows[j*int64(dim):(j+1)*int64(dim)]...)
				if all != nil {
					goals = append(goals, all[j])
				}
			}
		}
		if err := r.chunk(ctx, picked, answers, goals); err != nil {
			return err
		}
		first += int64(n)
		p.set(min(first, r.report.Answers), r.report.Answers)
	}
	if first != r.report.Answers {
		return fmt.Errorf("%s has %d answers for the %d queries of %s", r.in.answers.name, r.report.Answers, first, src.in.name)
	}
	return nil
}

// chunk finds the best atoms of some queries and compares their answers. goals are what the
// queries ask for themselves, or nil.
func (r *recall) chunk(ctx context.Context, queries []float32, answers []dataset.Result, goals []batch.QueryGoal) error {
	if len(answers) == 0 {
		return nil
	}
	req := batch.Request{Queries: queries, K: r.flags.k, Method: r.method, Delta: r.config.Delta, Goals: goals, Part: true}
	if r.goals != nil {
		req.K = r.goals.k
	}
	switch {
	case r.flags.excludeSelf && goals != nil:
		for j, res := range answers {
			if res.Query < int64(r.engine.atoms.N) {
				goals[j].Exclude = append(goals[j].Exclude, res.Query)
			}
		}
	case r.flags.excludeSelf:
		req.K++ // the best of all are the best of the others, and the query
	}
	resp, err := r.engine.Search(ctx, req)
	if err != nil {
		return r.located(err, answers)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.report.Seconds += resp.Took.Seconds()
	dim := r.engine.atoms.Dim
	for j, res := range answers {
		r.report.Plan = resp.Answers[j].Certificate.Plan
		best := resp.Answers[j].IDs
		if r.flags.excludeSelf && goals == nil {
			best = slices.DeleteFunc(best, func(id int64) bool { return id == res.Query })
			best = best[:min(len(best), r.flags.k)]
		}
		q := queries[j*dim : (j+1)*dim]
		if r.flags.excludeSelf {
			res = withoutSelf(res)
		}
		ids, scores := res.IDs, res.Scores
		if goals != nil {
			ids, scores = permitted(r.engine.atoms.Collection, q, res, cmp.Or(goals[j].K, r.goals.k), goals[j].MaxScore, goals[j].Exclude)
		}
		share, err := r.compare.Compare(res.Query, q, best, ids, scores)
		if err != nil {
			return fmt.Errorf("%s: %w", r.in.answers.name, err)
		}
		if missed := r.compare.Missed(); len(missed) > 0 && r.misses != nil {
			if err := r.misses.write(res.Query, share, missed, r.engine.atoms.names); err != nil {
				return err
			}
		}
	}
	return r.checkScores()
}

// checkScores returns an error as soon as the stated scores are known to be of another metric.
func (r *recall) checkScores() error {
	scores := r.compare.Scores()
	if _, err := scores.Form(r.engine.atoms.Metric); err != nil {
		return otherMetric(r.in.answers.name, err)
	}
	return nil
}

// otherMetric says what to do about stated scores of another metric.
func otherMetric(answers string, err error) error {
	return fmt.Errorf("%s: %w; give the metric of the answers as --metric, or answers without scores", answers, err)
}

// located adds the file and its row to an error of the engine.
func (r *recall) located(err error, answers []dataset.Result) error {
	var e *batch.RequestError
	if !errors.As(err, &e) || e.Query < 0 {
		return err
	}
	return fmt.Errorf("%s: row %d (0-based): %w", r.in.queries.name, answers[e.Query].Query, e.Err)
}

// print reports the comparison and writes the file of --misses.
func (r *recall) print() error {
	found, err := r.compare.Report()
	if err != nil {
		return fmt.Errorf("%s: %w", r.in.answers.name, err)
	}
	r.report.RecallReport, r.report.GPUUnused = found, r.engine.unusedGPUs()
	r.report.Seconds = time.Duration(r.report.Seconds * 1e9).Round(time.Microsecond).Seconds()
	if r.misses != nil {
		if err := r.misses.commit(r.flags.force); err != nil {
			return err
		}
	}
	if r.flags.json {
		return json.NewEncoder(r.out).Encode(&r.report)
	}
	return r.report.print(r.out)
}
