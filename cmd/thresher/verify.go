package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/segments"
	"thresher/tasks"
	"thresher/verify"
)

type verifyFlags struct {
	vectorFlags
	goalFlags
	ids                   string
	answers, certificates string
	sample                int64
	guarantee, require    string
	k                     int
	excludeSelf           bool
	ignoreScores          bool
	strictDelta, json     bool
	dtype                 dtypeFlag
}

func newVerifyCommand(a *app) *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "verify --vectors FILE --queries FILE [--metric NAME] --answers FILE",
		Short: "Recompute answers exactly and report wrong ones",
		Long: `Recompute answers in float64 and report the wrong ones.

An answer is wrong if one of the k best vectors is missing that scores more than a vector
returned, plus epsilon and the rounding error of float64 sums; with l2, one that is
nearer by more than epsilon and (3d+48) 2^-53 of the squared distance. So each rank has
the score of the true rank, less epsilon. Certificates of boundedme promise less: no
vector returned scores below the k-th best, less epsilon; the report says which criterion was
used. An answer is malformed if its length is wrong, if a vector does not exist, is
repeated or is the query itself, or if a score is not the vector's. A partial answer, cut
short by a deadline, is checked against its open bound, and malformed without one.

Answers that search made with --exclude, --filter, --filter-column, --k-column and the like are
checked with the same flags.

Each answer is held to its own certificate, in .jsonl answers or in the file written by
search --certificates; without one to the guarantee and delta that the answers' file
states; and if it states none, to an exact one. For such answers --guarantee, with
--delta and --epsilon, says otherwise. The report states the greatest epsilon and delta
that certificates grant, and to how many answers. --epsilon, --delta and --require
lower what they may grant: an answer whose certificate grants more is wrong.

Answers of other programs may be matrices of ids (.npy; .npz with ids, I, labels,
neighbors or indices, and scores, D or distances; .ivecs), ground truth of the
big-ann-benchmarks (.ibin), Qdrant's responses (.json), or tables (.csv, .jsonl,
.parquet) with columns query, id, score (or distance) and perhaps rank, sorted by
query. Integers are row numbers of the vectors unless --ids names the column that they
come from; texts are looked up in it, or in the column id. Their scores may be on any
usual scale, such as 1 - cosine or Lucene's, at float16 or four digits; on a scale that
is not known they are not compared.

Exit code 1: any malformed answer; any wrong answer under an exact or certain
guarantee, or whose certificate is exact, or grants more than is allowed. Under a
failure probability delta, wrong answers are counted and compared with delta: more of
them than delta explains (one-sided binomial p below 1e-6) cause exit code 1, any at all
with --strict-delta. That p assumes independent queries, which queries sharing a
rotation are not; see also the number of neighbourhoods, which counts wrong answers that
lack the same vector once.`,
		Example: `  thresher verify --vectors A.npy --queries Q.npy --metric cosine --answers answers.npz
  thresher verify --vectors A.npy --queries Q.npy --metric l2 --answers gt.ibin --guarantee certain`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.scoreLimits.read(cmd.Flags())
			return a.runVerify(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	f.vectorFlags.add(fs)
	f.goalFlags.add(fs)
	a.reading.add(fs)
	fs.StringVar(&f.ids, "ids", "", "`column` of the vectors' ids that the answers and --exclude use (default: row numbers, and for texts the column id)")
	fs.StringVar(&f.answers, "answers", "", "`file` of answers ("+endingsOf(dataset.AnswersRead)+", .json)")
	fs.StringVar(&f.certificates, "certificates", "", "`file` of certificates that search --certificates wrote")
	fs.Int64Var(&f.sample, "sample", 0, "check this many queries, drawn by --seed; 0 = all")
	fs.StringVar(&f.guarantee, "guarantee", "", "guarantee of answers without certificates: exact, certain, probabilistic or heuristic (default: what their file states, or exact)")
	fs.StringVar(&f.require, "require", "", "least guarantee of certificates: exact (none of the k best missing), certain (within epsilon) or probabilistic")
	fs.IntVarP(&f.k, "k", "k", 0, "k of the search; 0 = the length of the longest answer")
	f.scoreLimits.add(fs, "the answers are all vectors that score at least this (distances: at most)")
	f.dtype.add(fs)
	fs.BoolVar(&f.excludeSelf, "exclude-self", false, "query j is vector j, which is checked, and must not be among its answers")
	fs.BoolVar(&f.ignoreScores, "ignore-scores", false, "check only which vectors were returned, not their scores")
	fs.BoolVar(&f.strictDelta, "strict-delta", false, "exit code 1 for any wrong answer, though delta allows some")
	fs.BoolVar(&f.json, "json", false, "report as one JSON object on stdout")
	addSettings(cmd, "metric", "delta", "epsilon", "seed", "threads", "chunk", "dense_limit", "read_limit", "cache", "cache_limit")
	refusePublishedFlags(cmd)
	fs.Lookup("delta").Usage = "the greatest that certificates may grant (default: any); without certificates, that of the answers' --guarantee (0.01)"
	fs.Lookup("epsilon").Usage = "the greatest that certificates may grant, in score units (default: any); without certificates, that of the answers (0)"
	fs.Lookup("chunk").Usage = "queries checked together"
	fs.Lookup("seed").Usage = "seed that draws the queries of --sample"
	cli.GroupFlags(fs, cli.InputFlags, "certificates") // which search writes
	return cmd
}

func (f *verifyFlags) check() error {
	switch {
	case f.atoms == "" || f.queries == "" || f.answers == "":
		return errors.New("verify: --vectors, --queries and --answers name the files to check")
	case f.atoms == cli.Stdio && f.queries == cli.Stdio:
		return errors.New("verify: --vectors and --queries cannot both be standard input")
	case stdinInputs(f.atoms, f.queries, f.answers, f.certificates, f.exclude) > 1:
		return errors.New("verify: only one of --vectors, --queries, --answers, --certificates and --exclude can be standard input")
	case f.sample < 0:
		return fmt.Errorf("verify: --sample %d is negative", f.sample)
	case f.k < 0:
		return fmt.Errorf("verify: -k %d is negative", f.k)
	}
	if err := (&verify.Bar{Require: batch.Guarantee(f.require)}).Check(); err != nil {
		return fmt.Errorf("verify: --%w", err)
	}
	switch batch.Guarantee(f.guarantee) {
	case "", batch.GuaranteeExact, batch.GuaranteeCertain, batch.GuaranteeProbabilistic, batch.GuaranteeHeuristic:
		return nil
	}
	return fmt.Errorf("verify: --guarantee %q is none of exact, certain, probabilistic, heuristic", f.guarantee)
}

// verification is one run of the command.
type verification struct {
	*app
	flags   *verifyFlags
	oracle  *verify.Oracle
	rows    []float32              // of the atoms, as they are searched; nil if they are kept or walked
	walked  *segments.Reading      // the atoms, if they are those of a folder
	kept    *collection.Collection // the atoms, if they are kept as float64
	dim, n  int                    // of the atoms
	metric  collection.Metric
	origin  []float64     // that the atoms are relative to
	rounded float64       // the largest change of a coordinate of atoms and queries that float32 does not hold
	change  float64       // the largest change of a coordinate of the atoms
	given   bool          // atoms and queries are compared as they were given
	request batch.Request // what all queries ask for
	goals   *queryGoals   // nil if all ask for the same
	filters *queryFilters // nil without a filter for each query
	report  verifyReport
	k       int // the greatest of any query, 0 if one asks for any number
	longest int // atoms of the longest answer
	// certified counts the answers with certificates.
	certified int64
	in        input // the answers
	inAtoms   input
	layout    dataset.Layout // of the atoms
	answers   *answerReader
	atoms     atomIDs
	terms     verify.Terms // of all answers

	certificates, exclude input // if named
}

func (a *app) runVerify(ctx context.Context, f *verifyFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.parseFilters(); err != nil {
		return err
	}
	vectors, err := a.openVectors(ctx, "vectors", f.atoms)
	if err != nil {
		return err
	}
	in, err := a.openJudged(ctx, &f.vectorFlags, vectors, f.ids, f.filterColumn, append(f.columns(), f.filter.columns()...))
	if err != nil {
		return err
	}
	defer in.close()
	if err := in.vectors.checkColumns("filter", f.filter.columns()); err != nil {
		return err
	}
	v := &verification{app: a, flags: f, inAtoms: in.vectors}
	v.report.QueryColumns = dataset.LayoutOf(in.rows).String()
	if v.in, err = in.answers(ctx, a, f.answers); err != nil {
		return err
	}
	defer v.in.remove()
	if f.certificates != "" {
		if v.certificates, err = a.openInput(ctx, "certificates", f.certificates); err != nil {
			return err
		}
		defer v.certificates.remove()
	}
	if f.goalFlags.exclude != "" {
		if v.exclude, err = a.openInput(ctx, "exclude", f.goalFlags.exclude); err != nil {
			return err
		}
		defer v.exclude.remove()
	}
	closeAtoms, err := v.loadOracle(ctx, in.vectors, in.rows.Dim(), in.queries)
	if err != nil {
		return err
	}
	defer closeAtoms()
	oracle := func() (*verify.Oracle, error) { return v.oracle, nil }
	if err := a.decideIntegers(ctx, &answered{answers: v.in, ids: &v.atoms, said: f.integers, n: v.n, dim: v.dim, oracle: oracle, queries: in.reopened}); err != nil {
		return err
	}
	if err := v.survey(ctx); err != nil {
		return err
	}
	if v.request.Filter, err = f.filter.rows(ctx, a, in.vectors, f.atomsColumn, v.layout, v.n); err != nil {
		return err
	}
	v.report.Filtered = f.filtered(v.request.Filter)
	if v.filters = in.filters; v.filters != nil {
		if err := v.filters.prepare(ctx, a, in.vectors, f.atomsColumn, v.layout, v.n); err != nil {
			return err
		}
	}
	if v.goals, err = a.openGoals(ctx, &f.goalFlags, in.queries, v.exclude, v.report.Queries, v.request.K, v.metric); err != nil {
		return err
	}
	if v.goals != nil {
		defer v.goals.Close()
		v.k, v.report.kColumn = v.goals.maxK, f.kColumn
		ids := v.atoms
		if err := v.goals.resolve(&ids, v.n); err != nil {
			return err
		}
	}
	if err := v.check(ctx, v.chunksOf(in.queries, in.rows).forAnswers(v.longest)); err != nil {
		return err
	}
	return v.print()
}

// loadOracle reads the atoms, as given, into the oracle.
func (v *verification) loadOracle(ctx context.Context, in input, dim int, queries input) (func() error, error) {
	metric, err := in.metric(v.Config.Metric)
	if err == nil && in.isCollection() {
		err = v.agree(in, map[string]string{"metric": metric.String()})
	}
	if err != nil {
		return nil, err
	}
	var rows, rests []float32
	var kept *collection.Collection // of float64
	var have int
	free := func() error { return nil }
	v.atoms = atomIDs{file: in.name, column: v.flags.ids}
	if in.isCollection() {
		if v.flags.ids != "" && !in.hasSavedIDs(v.flags.ids) {
			return nil, fmt.Errorf("--ids %s: %s is a prepared collection, which has no ids; name the file of vectors that it was built from", v.flags.ids, in.name)
		}
		var c *collection.Collection
		if err := in.retried(ctx, func() (err error) {
			if c, err = collection.Open(in.path); err != nil {
				return err
			}
			if v.atoms.names, v.atoms.found, err = in.savedIDs(c.N); err != nil {
				err = errors.Join(err, c.Close())
			}
			return err
		}); err != nil {
			return nil, err
		}
		have, free = c.Dim, c.Close
		if c.Float64() {
			kept = c
		} else {
			rows = c.Floats()
		}
		v.origin, v.change = c.Origin, c.Change.Largest
	} else {
		r, err := in.open(&dataset.Options{Column: v.flags.atomsColumn, IDs: v.flags.ids, FindIDs: true, Except: v.flags.columns(), Centre: metric.Differences()})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		v.layout = dataset.LayoutOf(r)
		v.report.VectorColumns = v.layout.String()
		have = r.Dim()
		t, typed := dataset.KeptAs(r, v.flags.dtype.Elem)
		switch {
		case in.folder != nil:
			err = v.walk(in, r)
		case typed && t.Elem() == dataset.ElemFloat64:
			kept, err = v.readKept(ctx, in, r, metric)
		default:
			rows, rests, err = v.readRounded(ctx, in, r)
		}
		if err != nil {
			return nil, err
		}
	}
	if have != dim {
		return nil, errors.Join(fmt.Errorf("%s has vectors of dimension %d, %s of dimension %d", in.name, have, queries.name, dim), free())
	}
	v.rows, v.dim, v.n, v.metric, v.kept = rows, dim, len(rows)/dim, metric, kept
	switch {
	case v.walked != nil:
		v.n = v.walked.Len()
		v.oracle, err = verify.NewOracleOver(v.walked, metric, v.Config.Threads)
	case kept != nil:
		v.n = kept.N
		v.oracle, err = verify.NewOracleOf(kept, v.Config.Threads)
	default:
		v.oracle, err = verify.NewOracle(rows, dim, metric, v.Config.Threads)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", in.name, err), free())
	}
	if err := v.oracle.AddRests(rests); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", in.name, err), free())
	}
	v.given, v.rounded = !in.isCollection() && (in.folder == nil || v.change == 0), v.change
	return free, nil
}

// readRounded reads the atoms in float32, with what that takes from them.
func (v *verification) readRounded(ctx context.Context, in input, r dataset.Reader) (rows, rests []float32, err error) {
	m, err := dataset.DrainWithin(ctx, dataset.KeepRests(r), cli.RoomFor(in.name))
	if err != nil {
		return nil, nil, in.named(err)
	}
	if err := in.checkNames(m.IDs); err != nil {
		return nil, nil, dataset.Placed(r, err)
	}
	v.origin, v.change = dataset.OriginOf(r), dataset.ChangeOf(r).Largest
	v.atoms.names = m.IDs
	return m.Data, m.Rests, nil
}

// walk takes the atoms of a folder, of which r is a reader, where they lie.
func (v *verification) walk(in input, r dataset.Reader) (err error) {
	if err := in.checkNames(in.folder.ids); err != nil {
		return dataset.Placed(r, err)
	}
	if v.walked, err = in.folder.now.Rows(); err != nil {
		return err
	}
	v.change, v.atoms.names = v.walked.Change().Largest, in.folder.ids
	return nil
}

// readKept reads atoms that are kept as float64.
func (v *verification) readKept(ctx context.Context, in input, r dataset.Reader, metric collection.Metric) (*collection.Collection, error) {
	rows, ids, err := dataset.DrainVectorsWithin(ctx, r, dataset.ElemFloat64, cli.RoomFor(in.name))
	if err != nil {
		return nil, in.named(err)
	}
	if err := in.checkNames(ids); err != nil {
		return nil, dataset.Placed(r, err)
	}
	v.atoms.names = ids
	c, err := collection.BuildVectors(ctx, rows, &collection.Options{Metric: metric, Threads: v.Config.Threads, NoCodes: true})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.name, err)
	}
	return c, nil
}

// chunksOf reads the queries as the oracle compares them.
func (v *verification) chunksOf(in input, queries dataset.Reader) *queryChunks {
	src := newQueryChunks(in, queries, v.Config.Chunk)
	switch {
	case v.kept != nil:
		return src.forAtoms(atomsOf(v.kept))
	case v.walked != nil && v.walked.Float64():
		return src.forAtoms(&atoms{elem: v.walked.Elem()})
	}
	return src.relativeTo(v.origin).keepRests(v.given)
}

// survey counts the answers and, without -k, determines k from them.
func (v *verification) survey(ctx context.Context) error {
	r, err := v.openAnswers()
	if err != nil {
		return err
	}
	defer r.close()
	for {
		a, err := r.nextAnswer()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if r.certified {
			v.certified++
		}
		v.report.Queries++
		v.longest = max(v.longest, len(a.IDs))
	}
	req := batch.Request{K: v.flags.k, MinScore: v.flags.minScore(), MaxScore: v.flags.maxScore(), ExcludeSelf: v.flags.excludeSelf}
	ranged := v.flags.ranged()
	if req.K == 0 && !ranged && v.flags.kColumn == "" {
		req.K = v.longest
	}
	v.k = req.K
	if v.report.Queries == 0 {
		return fmt.Errorf("%s: no answers", v.in.name)
	}
	if req.K == 0 && !ranged && v.flags.kColumn == "" {
		return fmt.Errorf("%s: every answer is empty; -k says how many vectors were asked for", v.in.name)
	}
	v.request = req
	return nil
}

// check reads queries and answers in parallel and verifies those drawn.
func (v *verification) check(ctx context.Context, src *queryChunks) error {
	r, err := v.openAnswers()
	if err != nil {
		return err
	}
	defer r.close()
	v.answers = r
	v.report.bare, v.report.flag = v.certified == 0, v.flags.guarantee != ""
	v.setTerms()
	found, err := tasks.Verify(ctx, v.oracle, eachDrawn(ctx, v.drawn(src), v.claims), nil)
	if err != nil {
		return err
	}
	v.report.stating = r.stating
	found.K, found.Metric, found.Rounded = v.k, v.metric.String(), v.rounded
	found.AsGiven = v.given && v.rounded > 0
	v.report.VerifySummary = found
	return nil
}

func (v *verification) print() error {
	verdict := v.report.verdict(v.flags.strictDelta)
	if v.flags.json {
		if err := json.NewEncoder(v.Out).Encode(&v.report); err != nil {
			return err
		}
	} else if err := v.report.print(v.Out); err != nil {
		return err
	}
	if verdict == nil {
		return nil
	}
	return cli.Exit(cli.ExitWrong, verdict)
}
