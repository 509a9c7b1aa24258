package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thresher/batch"
	"thresher/config"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/tasks"
)

type searchFlags struct {
	vectorFlags
	goalFlags
	verb                   string // search, certify, truth or graph
	candidates             string
	ids, out, certificates string
	scores                 string // a file of scores, of truth
	excludeSelf            bool
	deadline               time.Duration
	deadlineGiven          bool
	part                   partFlag
	resume, force, json    bool
	dtype                  dtypeFlag
}

func newSearchCommand(a *app) *cobra.Command {
	f := &searchFlags{verb: "search"}
	cmd := &cobra.Command{
		Use:   "search --vectors FILE --queries FILE [--metric NAME]",
		Short: "Find the k best vectors of every query",
		Long: `Find the k best vectors of every query. Answers are written chunk by chunk.

They go to --out, whose extension selects the format (.jsonl, .npz, .csv, .parquet,
.ivecs, .ibin), or as JSON lines to stdout. --resume continues a run that was killed. A summary
goes to stderr, or with --json to stdout. The default --seed is 1, so that runs repeat.

.csv has a row for each query and vector, and all that .parquet has but lists.

.ibin is ground truth as the big-ann-benchmarks write it: ids and scores; ids alone if
the name ends in .neighbors.ibin; or, with --min-score and without -k, the answers of a
range search.

Queries can differ in what they ask for. --exclude FILE lists vectors that a query may not
return, such as seen items or known positives: a sparse matrix of scipy (.npz of save_npz,
a row a query), .jsonl with [7,5] or {"query":0,"ids":[7,5]} a line, or .ivecs. Its ids are
row numbers of the vectors or, with --ids, those of that column; texts are ids too.
--k-column, --min-score-column and --max-score-column take k, the least and the greatest score of
each query from columns of the queries' file; hard negatives are the k best below a share
of the positive's score. --filter EXPRESSION says by other columns of the vectors' file which of
them answers may have, --filter-column NAME of each query by itself (docs/filters.md). Shorter answers are padded as in every output: id -1, score -Inf.`,
		Example: `  thresher search --vectors A.npy --queries Q.npy --metric cosine -k 10 --out answers.npz
  thresher search --vectors items.parquet --queries users.parquet --metric ip --exclude seen.npz -k 10 --out picks.parquet
  thresher search --vectors items.parquet --queries users.parquet --metric ip --filter "year >= 1999 and lang in ('go', 'rust')" -k 10 --out picks.parquet
  thresher search --vectors A.npy --queries A.npy --metric l2 -k 10 --exclude-self --method certain | head
  thresher search --vectors A.npy --queries Q.npy --metric ip --part "$SLURM_ARRAY_TASK_ID/16" --out "parts/$SLURM_ARRAY_TASK_ID.npz"
  thresher search --vectors A.npy --queries Q.npy --metric ip -k 1 --method banditmips --sigma 1 --sampling with_replacement --warm 64 --out answers.npz
  thresher search --vectors A.npy --queries Q.npy --metric ip --method bucket-ae --sigma bernstein --bins 30 --out answers.npz`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.scoreLimits.read(cmd.Flags())
			f.deadlineGiven = cmd.Flags().Changed("deadline")
			return a.runSearch(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	f.add(fs)
	a.reading.add(fs)
	fs.StringVar(&f.candidates, "candidates", "", "`file` of answers by any program ("+endingsOf(dataset.AnswersRead)+", .json): probable answers, scored first for a threshold; right or wrong, they do not change the answers")
	f.scoreLimits.add(fs, minScoreUsage)
	f.dtype.add(fs)
	f.part.add(fs)
	fs.DurationVar(&f.deadline, "deadline", 0, "stop the search after this `time` and answer the rest with the best so far, which complete and guarantee of each answer say (exit code 3)")
	addSettings(cmd, append(searchSettings(), batch.PublishedNames()...)...)
	return cmd
}

// certainByDefault is the method that help states as the default of the verbs that prove or compare: their answers
// are never wrong, unless another method is asked for.
const certainByDefault = string(batch.Certain)

// certainMethod is the method of these verbs.
func (a *app) certainMethod() batch.Method {
	if a.Config.Origin("method").Kind == config.FromDefault {
		return batch.Certain
	}
	return batch.Method(a.Config.Method)
}

const minScoreUsage = "return all vectors (with -k, the k best) that score at least this (distances: at most); each is missed with probability at most delta"

// add defines the flags that search, certify and truth share.
func (f *searchFlags) add(fs *pflag.FlagSet) {
	f.vectorFlags.add(fs)
	f.goalFlags.add(fs)
	fs.StringVar(&f.ids, "ids", "", "`column` of the vectors' ids, written next to row numbers (default: the column id, if there is one)")
	fs.StringVar(&f.out, "out", cli.Stdio, "`file` for the answers, ending in "+endings(dataset.AnswersWritten, "or")+"; - is JSON lines on stdout")
	fs.StringVar(&f.certificates, "certificates", "", "`file` (.jsonl) for the certificate of every answer")
	fs.BoolVar(&f.excludeSelf, "exclude-self", false, "the queries are the vectors; do not return a query as its own answer")
	fs.BoolVar(&f.resume, "resume", false, "continue a run that was killed; keeps FILE.progress at the end, so that the same command, given again, finds that all is done")
	fs.BoolVar(&f.force, "overwrite", false, "overwrite outputs")
	fs.BoolVar(&f.json, "json", false, "summary as one JSON object on stdout")
}

// beside are the names of columns of the queries that are no coordinates.
func (f *searchFlags) beside() []string { return append(f.columns(), f.ids, f.filterColumn) }

// check rejects conflicting flags before anything is read.
func (f *searchFlags) check() error {
	switch {
	case f.filterColumn != "" && f.part.text != "":
		return f.refuse("--part: answers with a filter for each query do not state what they are for, by which check joins parts; leave out --filter-column or --part")
	case f.atoms == "" || f.queries == "":
		return f.refuse("--vectors and --queries name the files to search")
	case f.verb == certify && f.candidates == "":
		return f.refuse("--answers names the file to certify")
	case stdinInputs(f.atoms, f.queries, f.candidates, f.exclude) > 1:
		return f.refuse("only one input can be standard input")
	case f.resume && f.force:
		return f.refuse("--resume and --overwrite exclude each other")
	case f.resume && f.out == cli.Stdio:
		return f.refuse("--resume needs the --out file of the run that stopped")
	case f.json && f.out == cli.Stdio:
		return f.refuse("--json puts the summary on stdout, where the answers go; name an --out file")
	case f.deadline < 0:
		return f.refuse("--deadline %v is negative", f.deadline)
	case f.deadlineGiven && f.deadline == 0:
		return f.refuse("--deadline 0 leaves no time for an answer; leave it out for none")
	case f.certificates != "" && f.out == cli.Stdio:
		return f.refuse("--certificates needs an --out file; JSON lines already contain certificates")
	}
	if err := f.part.check(f.out); err != nil {
		return err
	}
	return f.checkOutputs()
}

// checkOutputs rejects outputs that cannot be, or that are inputs.
func (f *searchFlags) checkOutputs() error {
	switch {
	case f.certificates != "" && filepath.Ext(f.certificates) != ".jsonl":
		return f.refuse("--certificates %s: name does not end in .jsonl", f.certificates)
	case f.certificates != "" && filepath.Clean(f.certificates) == filepath.Clean(f.out):
		return f.refuse("%s is named for answers and certificates", f.out)
	}
	return f.sparesInputs()
}

// sparesInputs refuses to overwrite inputs, even with --overwrite.
func (f *searchFlags) sparesInputs() error {
	for _, out := range []string{f.out, f.certificates, f.scores} {
		written, err := os.Stat(out)
		if err != nil {
			continue // missing: nothing to protect
		}
		for _, in := range []string{f.atoms, f.queries, f.candidates, f.exclude} {
			read, err := os.Stat(in)
			if err == nil && os.SameFile(read, written) {
				return f.refuse("%s is an input and would be overwritten", out)
			}
		}
	}
	return nil
}

// items are what the chunks of the verb consist of.
func (f *searchFlags) items() string {
	if f.verb == graph {
		return "rows"
	}
	return "queries"
}

// refuse returns a usage error of the verb.
func (f *searchFlags) refuse(format string, args ...any) error {
	return fmt.Errorf(f.verb+": "+format, args...)
}

// stdinInputs counts the paths that are standard input.
func stdinInputs(paths ...string) int {
	n := 0
	for _, path := range paths {
		if path == cli.Stdio {
			n++
		}
	}
	return n
}

// search is one run of the command.
type search struct {
	*app
	flags   *searchFlags
	in      struct{ atoms, queries, candidates, exclude input }
	atoms   *atoms
	columns columnsRead
	engine  *engine
	request batch.Request // without queries
	out     *answerFiles
	method  batch.Method
	k       int     // most atoms of an answer, 0 for any number
	rounded float64 // largest change of a coordinate by rounding to float32, of a search of a part of the queries
	// warnings are in addition to the engine's.
	warnings []string
	// candidates streams other answers to the queries, nil without any; certified counts
	// what was wrong with them, and is nil unless the command is certify.
	candidates *othersAnswers
	certified  *certification
	goals      *queryGoals   // nil if all queries ask for the same
	filters    *queryFilters // nil without a filter for each query
	// until is the deadline of the whole search; zero means none.
	until   time.Time
	summary summary
}

func (a *app) runSearch(ctx context.Context, f *searchFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	s := &search{app: a, flags: f, k: a.Config.K, method: batch.Method(a.Config.Method)}
	if f.verb == certify {
		s.certified = &certification{}
	}
	if f.verb != "search" {
		s.method = a.certainMethod()
	}
	if err := f.checkTruth(a.Config, s.method); err != nil {
		return err
	}
	if err := cmp.Or(checkPublished(f.verb, a.Config, s.method), f.parseFilters()); err != nil {
		return err
	}
	if s.out, err = newAnswerFiles(f); err != nil {
		return err
	}
	if s.in.atoms, err = a.openSearched(ctx, f.atoms, s.method); err != nil {
		return err
	}
	defer s.in.atoms.remove()
	s.in.atoms.ids, s.in.atoms.except = f.ids, append(f.columns(), f.filter.columns()...)
	if s.in.queries, err = a.openVectors(ctx, "queries", f.queries); err != nil {
		return err
	}
	defer s.in.queries.remove()
	s.in.queries.except = f.filter.columns()
	if f.filterColumn != "" {
		if s.filters, err = a.openFilters(ctx, s.in.queries, f.filterColumn); err != nil {
			return err
		}
		s.in.atoms.except = append(s.in.atoms.except, s.filters.columns()...)
		s.in.queries.except = s.filters.columns()
	}
	if f.candidates != "" {
		if s.in.candidates, err = a.openInput(ctx, f.candidatesFlag(), f.candidates); err != nil {
			return err
		}
		defer s.in.candidates.remove()
	}
	if f.exclude != "" {
		if s.in.exclude, err = a.openInput(ctx, "exclude", f.exclude); err != nil {
			return err
		}
		defer s.in.exclude.remove()
	}
	if s.in.queries, err = s.in.atoms.alike(s.in.queries, f.atomsColumn); err != nil {
		return err
	}
	queries, err := s.in.queries.openQueries(f.queriesColumn, f.beside()...)
	if err != nil {
		return err
	}
	defer queries.Close()
	if queries.Len() == 0 {
		return fmt.Errorf("%s: no queries", s.in.queries.name)
	}
	if err := s.in.atoms.checkColumns("filter", f.filter.columns()); err != nil {
		return err
	}
	if err := s.divideQueries(ctx, queries); err != nil {
		return err
	}
	if err := s.openLists(ctx, queries); err != nil {
		return err
	}
	defer s.closeLists()
	if err := s.openAtoms(ctx, queries); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.engine.close()) }()
	if err := s.prepare(ctx, queries); err != nil {
		return s.engine.undamaged(ctx, err)
	}
	if err := s.answer(ctx, queries); err != nil {
		return s.engine.undamaged(ctx, err)
	}
	return s.report()
}

// openLists opens what the command line says of each query, after checking it against the
// queries. The caller calls closeLists.
func (s *search) openLists(ctx context.Context, queries dataset.Reader) error {
	f, m := s.flags, queries.Len()
	if f.candidates != "" || f.exclude != "" || s.filters != nil {
		var err error
		if m, err = s.in.queries.count(ctx, queries, f.queriesColumn, f.beside()...); err != nil {
			return err
		}
	}
	if s.filters != nil {
		if err := s.filters.fit(m); err != nil {
			return err
		}
	}
	switch {
	case s.Config.Origin("k").Kind != config.FromDefault || f.verb == certify: // whose default is of the answers
	case f.ranged():
		s.k = 0
	case f.verb == truth:
		s.k = truthK
	}
	if f.candidates != "" {
		if err := s.openCandidates(ctx, queries, m); err != nil {
			return err
		}
	}
	metric, err := s.in.atoms.metric(s.Config.Metric)
	if err != nil {
		return err
	}
	s.goals, err = s.openGoals(ctx, &f.goalFlags, s.in.queries, s.in.exclude, m, s.k, metric)
	return err
}

func (s *search) closeLists() {
	if s.candidates != nil {
		s.candidates.close()
	}
	if s.goals != nil {
		s.goals.Close()
	}
}

// openAtoms loads the atoms and starts the engine, which the caller closes.
func (s *search) openAtoms(ctx context.Context, queries dataset.Reader) error {
	columns := &dataset.Options{Column: s.flags.atomsColumn, IDs: s.flags.ids, FindIDs: true, Except: s.flags.columns()}
	if err := s.in.atoms.fits(columns, s.in.queries, queries.Dim()); err != nil {
		return err
	}
	e, err := s.openEngine(ctx, s.in.atoms, columns, demand{method: s.method, k: s.k, queries: s.flags.part.count(queries), searches: true, dtype: s.flags.dtype.Elem}, func(a *atoms) (batch.Request, error) {
		s.atoms = a
		err := s.buildRequest(ctx, queries)
		return s.request, err
	})
	if err != nil {
		return err
	}
	s.engine = e
	s.describe()
	return nil
}

// prepare makes ready what is said of each query, by the ids of the atoms, and states what the answers cover.
func (s *search) prepare(ctx context.Context, queries dataset.Reader) error {
	if s.candidates != nil {
		ids := s.atoms.ids(s.in.atoms, s.flags.ids)
		err := s.decideIntegers(ctx, &answered{answers: s.in.candidates, ids: ids, said: s.flags.integers, n: s.atoms.N, dim: s.atoms.Dim, oracle: lazyOracle(s.atoms), queries: func() (dataset.Reader, error) {
			return s.in.queries.openQueries(s.flags.queriesColumn, s.flags.beside()...)
		}})
		if err != nil {
			return err
		}
		s.candidates.resolve(ids)
	}
	if s.goals != nil {
		if err := s.goals.resolve(s.atoms.ids(s.in.atoms, s.flags.ids), s.atoms.N); err != nil {
			return err
		}
	}
	if s.certified != nil {
		if err := s.certified.prepare(s); err != nil {
			return err
		}
	}
	return s.stateCoverage(ctx)
}

// buildRequest builds the request used for every chunk.
func (s *search) buildRequest(ctx context.Context, queries dataset.Reader) error {
	c := s.Config
	s.request = batch.Request{
		K: s.k, Delta: c.Delta, Epsilon: c.Epsilon,
		Method: s.method, ExcludeSelf: s.flags.excludeSelf, Part: true, SearchScores: s.out.hasScores64(),
	}
	var err error
	if s.request.Published, err = publishedOptions(s.Config); err != nil {
		return err
	}
	s.request.MinScore, s.request.MaxScore = s.flags.minScore(), s.flags.maxScore()
	if s.request.Filter, err = s.flags.filter.rows(ctx, s.app, s.in.atoms, s.flags.atomsColumn, s.atoms.columns, s.atoms.N); err != nil {
		return err
	}
	if s.filters != nil {
		if err = s.filters.prepare(ctx, s.app, s.in.atoms, s.flags.atomsColumn, s.atoms.columns, s.atoms.N); err != nil {
			return err
		}
	}
	if s.flags.excludeSelf && queries.Len() > int64(s.atoms.N) {
		return fmt.Errorf("--exclude-self: %s has %d queries for the %d vectors of %s", s.in.queries.name, queries.Len(), s.atoms.N, s.in.atoms.name)
	}
	width := s.request.K
	if s.goals != nil {
		width = s.goals.maxK
	}
	width = min(width, s.atoms.N)
	if others := max(1, s.atoms.N-1); s.flags.excludeSelf && width > others {
		s.warnings = append(s.warnings, fmt.Sprintf("k reduced from %d to %d, the vectors other than the query itself", width, others))
		width = others
	}
	if allowed := len(s.request.Filter); allowed > 0 && width > allowed {
		s.warnings = append(s.warnings, fmt.Sprintf("k reduced from %d to %d, the vectors that --filter allows", width, allowed))
		width = allowed
	}
	s.k = width
	s.columns = columnsOf(s.atoms.columns, queries)
	if err := s.out.setWidth(width); err != nil {
		return err
	}
	return s.out.nameAtoms(s.atoms, s.in.atoms, s.flags.ids)
}

// describe fills in the part of the summary known before the search.
func (s *search) describe() {
	s.summary = summary{
		Atoms: s.atoms.N, Filtered: s.flags.filtered(s.request.Filter), Dimension: s.atoms.Dim, columnsRead: s.columns, K: s.k, KColumn: s.flags.kColumn, Metric: s.atoms.Metric.String(),
		SearchSummary: tasks.SearchSummary{Method: string(s.method), Warnings: s.warnings}, Delta: s.Config.Delta, Epsilon: s.Config.Epsilon,
		DType: dtypeOf(s.atoms.Elem()), LoadSeconds: s.atoms.load.Seconds(), BuildSeconds: s.atoms.build.Seconds(),
		Threads: s.engine.threads(), Backend: s.engine.Backend(),
	}
	if s.flags.ranged() {
		s.summary.subject = tasks.Reaching
	}
	s.Log.Info("vectors ready", "vectors", s.atoms.N, "dimension", s.atoms.Dim, "load", s.atoms.load, "build", s.atoms.build)
}

// report prints the summary. Partial answers return an exitError.
func (s *search) report() error {
	s.summary.GPUUnused = s.engine.unusedGPUs()
	if s.flags.json {
		if err := json.NewEncoder(s.app.Out).Encode(s.summary); err != nil {
			return err
		}
	} else if err := s.summary.print(s.app); err != nil {
		return err
	}
	if s.summary.unfinished() == 0 {
		return nil
	}
	left := "partial: the best so far, with a bound on the rest"
	if s.flags.verb == certify {
		left = "unproven: as they were given"
	}
	return cli.Exit(cli.ExitDeadline, fmt.Errorf("the deadline of %v left %d of %d answers %s", s.flags.deadline, s.summary.unfinished(), s.summary.Queries, left))
}
