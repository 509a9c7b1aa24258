package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"thresher/batch"
	"thresher/collection"
	"thresher/config"
	"thresher/dataset"
	"thresher/internal/atomicfile"
	"thresher/tasks"
	"thresher/tasks/report"
)

// reportRun is one run of the command.
type reportRun struct {
	*app
	flags     *reportFlags
	atomsIn   input
	queriesIn input
	answersIn []input
	counts    []int64 // answers of each file
	ks        []int   // vectors wanted of each
	k         int     // the greatest
	method    batch.Method
	engine    *engine
	filter    []int64
	ids       *atomIDs
	total     int64   // queries in the file
	numbers   []int64 // of the queries drawn
	req       batch.Request
	queryIDs  []string       // of the queries drawn; nil without
	found     []batch.Answer // to them
	shown     *shownRows
	figures   report.Figures
}

func (a *app) runReport(ctx context.Context, f *reportFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.filter.parse(); err != nil {
		return err
	}
	r := &reportRun{app: a, flags: f, method: batch.Method(a.Config.Method)}
	if a.Config.Origin("method").Kind == config.FromDefault {
		r.method = batch.Certain
	}
	if err := checkPublished("report", a.Config, r.method); err != nil {
		return err
	}
	defer r.remove()
	if err := r.open(ctx); err != nil {
		return err
	}
	queries, err := r.queriesIn.openQueries(f.queriesColumn, f.named()...)
	if err != nil {
		return err
	}
	defer queries.Close()
	if err := r.atomsIn.fits(r.columns(), r.queriesIn, queries.Dim()); err != nil {
		return err
	}
	if err := r.survey(ctx, queries); err != nil {
		return err
	}
	if err := r.prepare(ctx, queries.Dim()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.engine.close()) }()
	if err := r.draw(ctx, queries); err != nil {
		return err
	}
	if err := r.search(ctx); err != nil {
		return err
	}
	if err := r.compare(ctx); err != nil {
		return err
	}
	return r.write()
}

// named are columns that are no coordinates.
func (f *reportFlags) named() []string {
	names := f.filter.columns()
	for _, name := range []string{f.ids, f.show} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

func (r *reportRun) columns() *dataset.Options {
	return &dataset.Options{Column: r.flags.atomsColumn, IDs: r.flags.ids, FindIDs: true, Except: r.flags.named()}
}

// open opens the files, which remove removes if they are temporary.
func (r *reportRun) open(ctx context.Context) (err error) {
	f := r.flags
	if r.atomsIn, err = r.openVectors(ctx, "vectors", f.atoms); err != nil {
		return err
	}
	if r.queriesIn, err = r.openVectors(ctx, "queries", f.queries); err != nil {
		return err
	}
	r.atomsIn.ids, r.atomsIn.except = f.ids, f.named()
	r.queriesIn.except = f.named()
	if r.queriesIn, err = r.atomsIn.alike(r.queriesIn, f.atomsColumn); err != nil {
		return err
	}
	for _, path := range f.answers {
		in, err := r.openInput(ctx, "answers", path)
		if err != nil {
			return err
		}
		r.answersIn = append(r.answersIn, in)
	}
	return nil
}

func (r *reportRun) remove() {
	for _, in := range append([]input{r.atomsIn, r.queriesIn}, r.answersIn...) {
		in.remove()
	}
}

// survey counts queries and answers and determines k.
func (r *reportRun) survey(ctx context.Context, queries dataset.Reader) (err error) {
	if r.total, err = r.queriesIn.count(ctx, queries, r.flags.queriesColumn, r.flags.named()...); err != nil {
		return err
	}
	if r.total == 0 {
		return fmt.Errorf("%s: no queries", r.queriesIn.name)
	}
	for i := range r.answersIn {
		in := &r.answersIn[i]
		in.queries = r.queriesIn.asked(ctx, queries, r.flags.queriesColumn, r.flags.named()...)
		n, k, err := surveyAnswers(ctx, *in, 0)
		if err != nil {
			return err
		}
		if n != r.total {
			return fmt.Errorf("%s has %d answers for the %d queries of %s", in.name, n, r.total, r.queriesIn.name)
		}
		if r.flags.k > k {
			return fmt.Errorf("-k %d: the longest answer of %s has %d vectors", r.flags.k, in.name, k)
		}
		if r.flags.k > 0 {
			k = r.flags.k
		}
		r.counts, r.ks, r.k = append(r.counts, n), append(r.ks, k), max(r.k, k)
	}
	if r.k == 0 {
		r.k = r.flags.k
	}
	if r.k == 0 {
		r.k = 10
	}
	return nil
}

// prepare loads the atoms and starts the engine, which the caller closes.
func (r *reportRun) prepare(ctx context.Context, dim int) (err error) {
	f := r.flags
	m := r.total
	if f.sample > 0 {
		m = min(m, f.sample)
	}
	r.engine, err = r.openEngine(ctx, r.atomsIn, r.columns(), demand{method: r.method, k: r.k, queries: m, joins: true, dtype: f.dtype.Elem}, func(a *atoms) (batch.Request, error) {
		var err error
		r.filter, err = f.filter.rows(ctx, r.app, r.atomsIn, f.atomsColumn, a.columns, a.N)
		return batch.Request{K: r.k, Method: r.method, Delta: r.Config.Delta, Filter: r.filter}, err
	})
	if err != nil {
		return err
	}
	a := r.engine.atoms
	fail := func(err error) error { return errors.Join(err, r.engine.close()) }
	if f.pixels != "" && f.width*f.height*f.depth != dim {
		return fail(fmt.Errorf("--pixels %s: %d values, and the vectors of %s have %d", f.pixels, f.width*f.height*f.depth, r.atomsIn.name, dim))
	}
	r.ids = a.ids(r.atomsIn, f.ids)
	if r.shown, err = r.openShown(ctx); err != nil {
		return fail(err)
	}
	r.k = min(r.k, a.N)
	r.figures = report.Figures{
		Version: report.Version, Metric: a.Metric.String(), K: r.k,
		Vectors: report.Set{Name: filepath.Base(r.atomsIn.name), Rows: int64(a.N), Dim: a.Dim},
		Queries: report.Set{Name: filepath.Base(r.queriesIn.name), Rows: r.total, Dim: dim},
	}
	if a.Elem() != dataset.ElemFloat32 {
		r.figures.Vectors.DType = a.Elem().String()
	}
	return nil
}

// draw reads the queries that are compared.
func (r *reportRun) draw(ctx context.Context, queries dataset.Reader) error {
	src := newQueryChunks(r.queriesIn, queries, r.Config.Chunk).forAtoms(r.engine.atoms)
	a := r.engine.atoms
	r.req = batch.Request{Stored: !a.Float64(), K: r.k, Method: r.method, Delta: r.Config.Delta, ExcludeSelf: r.flags.excludeSelf, Filter: r.filter, Part: true}
	d := &drawnQueries{app: r.app, source: src, doing: "reading queries", atoms: r.atomsIn, answers: r.queriesIn, total: r.total, sample: r.flags.sample}
	if r.flags.excludeSelf {
		d.selves = func(rows *queryRows, first int64) error { return rows.checkSelves(a, first) }
	}
	for _, err := range eachDrawn(ctx, d, func(c *drawnChunk) (*struct{}, error) {
		var part batch.Request
		for j := range c.n {
			if !c.drawn(j) {
				continue
			}
			c.add(&part, j)
			r.numbers = append(r.numbers, c.first+int64(j))
			if c.ids != nil {
				r.queryIDs = append(r.queryIDs, c.ids[j])
			}
		}
		r.req.Queries = append(r.req.Queries, part.Queries...) // whose memory is the chunk's
		r.req.Queries64 = append(r.req.Queries64, part.Queries64...)
		r.req.Changes = append(r.req.Changes, part.Changes...)
		r.req.Selves = append(r.req.Selves, part.Selves...)
		return nil, nil
	}) {
		if err != nil {
			return err
		}
	}
	r.figures.Sampled = int64(len(r.numbers))
	return nil
}

// of returns the request for some of the queries drawn, by their places.
func (r *reportRun) of(places []int) batch.Request {
	req, dim := r.req, r.engine.atoms.Dim
	req.Queries, req.Queries64, req.Changes, req.Selves = nil, nil, nil, nil
	for _, j := range places {
		if r.req.Queries != nil {
			req.Queries = append(req.Queries, r.req.Queries[j*dim:(j+1)*dim]...)
		}
		if r.req.Queries64 != nil {
			req.Queries64 = append(req.Queries64, r.req.Queries64[j*dim:(j+1)*dim]...)
		}
		if r.req.Changes != nil {
			req.Changes = append(req.Changes, r.req.Changes[j])
		}
		if r.req.Selves != nil {
			req.Selves = append(req.Selves, r.req.Selves[j])
		}
	}
	return req
}

const (
	reportPart   = 128 // queries that are searched at once
	maxDenseRuns = 4   // parts that are also answered by a dense scan, for its time
)

// search finds the best vectors of the queries drawn, and times it beside a dense scan.
func (r *reportRun) search(ctx context.Context) error {
	p := r.NewProgress("searching")
	defer p.Done()
	m := len(r.numbers)
	places := make([]int, m)
	for j := range places {
		places[j] = j
	}
	var counts tasks.SearchCounts
	var own, dense []float64         // seconds a part
	var ownBytes, denseBytes float64 // read in these parts
	for part := range slices.Chunk(places, reportPart) {
		req := r.of(part)
		resp, err := r.engine.Search(ctx, req)
		if err != nil {
			return r.located(err, part)
		}
		counts.Add(resp)
		r.found = append(r.found, resp.Answers...)
		if len(part) < min(reportPart, m) || len(own) >= maxDenseRuns {
			p.Set(int64(len(r.found)), int64(m))
			continue
		}
		own = append(own, resp.Took.Seconds())
		ownBytes += float64(resp.Stats.Bytes)
		if r.method != batch.Exact {
			req.Method = batch.Exact
			scan, err := r.engine.Search(ctx, req)
			if err != nil {
				return r.located(err, part)
			}
			dense = append(dense, scan.Took.Seconds())
			denseBytes += float64(scan.Stats.Bytes)
		}
		p.Set(int64(len(r.found)), int64(m))
	}
	all := counts.Summary(tasks.Answers)
	s := &r.figures.Search
	s.Method, s.Promise, s.Guarantees = r.method, all.Promise, counts.Guarantees
	s.Part = min(reportPart, m)
	if s.Read = 1; denseBytes > 0 {
		s.Read = ownBytes / denseBytes
	}
	s.Backend, s.Threads, s.BuildSeconds = r.engine.Backend(), r.engine.threads(), r.engine.atoms.build.Seconds()
	s.Seconds = median(own) / float64(s.Part)
	if dense != nil {
		s.DenseSeconds = median(dense) / float64(s.Part)
	}
	certificates := make([]batch.Certificate, m)
	for j := range r.found {
		certificates[j] = r.found[j].Certificate
		s.Plan = certificates[j].Plan
		if certificates[j].StoppedBy != batch.Done {
			return fmt.Errorf("report: %w", tasks.ErrUnfinished)
		}
	}
	s.Funnel = report.Funnel(certificates, r.engine.atoms.N, r.engine.atoms.Dim, r.k)
	return nil
}

// located names the query that an error of the engine is about.
func (r *reportRun) located(err error, part []int) error {
	var e *batch.RequestError
	if !errors.As(err, &e) || e.Query < 0 {
		return err
	}
	return fmt.Errorf("%s: row %d (0-based): %w", r.queriesIn.name, r.numbers[part[e.Query]], e.Err)
}

// compare compares each file of answers with what was found.
func (r *reportRun) compare(ctx context.Context) error {
	certificates := make([]batch.Certificate, len(r.found))
	for j := range r.found {
		certificates[j] = r.found[j].Certificate
	}
	groups := report.Hardness(certificates)
	for i := range r.answersIn {
		a, err := r.answersOf(ctx, i, groups)
		if err != nil {
			return err
		}
		r.figures.Answers = append(r.figures.Answers, *a)
	}
	return nil
}

// answersOf compares the answers of file i.
func (r *reportRun) answersOf(ctx context.Context, i int, groups [][]int) (*report.Answers, error) {
	in := r.answersIn[i]
	stated, err := r.stated(ctx, in)
	if err != nil {
		return nil, err
	}
	k := min(r.ks[i], r.engine.atoms.N)
	places := make([]int, len(r.numbers))
	for j := range places {
		places[j] = j
	}
	var worst []tasks.Compared
	a := &report.Answers{Name: filepath.Base(in.name)}
	if r.flags.names != nil {
		a.Name = r.flags.names[i]
	}
	if a.Seconds, err = r.secondsOf(i); err != nil {
		return nil, err
	}
	if a.RecallSummary, err = r.recallOf(ctx, in, k, places, stated, func(c *tasks.Compared) error {
		if len(c.Missed) > 0 {
			worst = append(worst, *c)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for _, group := range groups {
		g, err := r.recallOf(ctx, in, k, group, stated, nil)
		if err != nil {
			return nil, err
		}
		left := func(j int) int { return r.found[j].Certificate.Looks[0].Survivors }
		a.Hardness = append(a.Hardness, report.Group{From: left(group[0]), To: left(group[len(group)-1]), Queries: g.Queries, Recall: g.Recall, Low: g.Low, High: g.High})
	}
	slices.SortStableFunc(worst, func(x, y tasks.Compared) int {
		switch {
		case x.Recall < y.Recall:
			return -1
		case x.Recall > y.Recall:
			return 1
		}
		return 0
	})
	for _, c := range worst[:min(len(worst), maxMisses)] {
		m, err := r.miss(&c, k, stated)
		if err != nil {
			return nil, err
		}
		a.Missed = append(a.Missed, *m)
	}
	return a, nil
}

// stated reads the answers of a file to the queries drawn.
func (r *reportRun) stated(ctx context.Context, in input) ([]dataset.Result, error) {
	results, err := openOthersAnswers(in)
	if err != nil {
		return nil, err
	}
	defer results.close()
	ids := *r.ids
	if err := ids.useIntegers(r.flags.integers); err != nil {
		return nil, err
	}
	c := r.engine.atoms.block
	err = r.decideIntegers(ctx, &answered{answers: in, ids: &ids, n: c.N, dim: c.Dim, oracle: lazyOracle(r.engine.atoms), queries: func() (dataset.Reader, error) {
		return r.queriesIn.openQueries(r.flags.queriesColumn, r.flags.named()...)
	}})
	if err != nil {
		return nil, err
	}
	results.resolve(&ids)
	var drawn []dataset.Result
	for {
		res, err := results.read()
		if err == io.EOF {
			return drawn, nil
		}
		if err != nil {
			return nil, err
		}
		if len(drawn) < len(r.numbers) && res.Query == r.numbers[len(drawn)] {
			drawn = append(drawn, res)
		}
	}
}

// recallOf compares answers to some of the queries drawn.
func (r *reportRun) recallOf(ctx context.Context, in input, k int, places []int, stated []dataset.Result, visit func(*tasks.Compared) error) (*tasks.RecallSummary, error) {
	compare, err := newComparison(r.engine.atoms, in, k, r.Config.Threads)
	if err != nil {
		return nil, err
	}
	found, err := tasks.Recall(ctx, compare, func(yield func(*tasks.Part, error) bool) {
		for part := range slices.Chunk(places, reportPart) {
			req := r.of(part)
			req.K = k
			p := &tasks.Part{Request: &req}
			for _, j := range part {
				best := r.found[j]
				best.IDs = best.IDs[:min(k, len(best.IDs))]
				p.Proven, p.Stated = append(p.Proven, best), append(p.Stated, stated[j])
			}
			if !yield(p, nil) {
				return
			}
		}
	}, visit)
	var of *tasks.AnswersError
	if errors.As(err, &of) {
		return nil, inAnswers(in.name, of)
	}
	return found, err
}

// secondsOf is the time a query of file i of answers, 0 if it is not known.
func (r *reportRun) secondsOf(i int) (float64, error) {
	if len(r.flags.seconds) > 0 {
		return r.flags.seconds[i] / float64(r.counts[i]), nil
	}
	seconds, err := dataset.StatedSeconds(r.answersIn[i].path, r.counts[i], r.answersIn[i].budget())
	if err != nil {
		return 0, r.answersIn[i].named(err)
	}
	return seconds / float64(r.counts[i]), nil
}

// write writes the page and prints the figures or what became of them.
func (r *reportRun) write() error {
	r.figures.Program = "thresher " + readBuildInfo().Version
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

// scoresOf are the scores of rows for query j of those drawn, as answers state them.
func (r *reportRun) scoresOf(j int, rows []int64) []float64 {
	c := r.engine.atoms.block
	at := make([]uint32, len(rows))
	for i, row := range rows {
		at[i] = uint32(row)
	}
	scores := make([]float64, len(rows))
	if dim := c.Dim; c.Float64() {
		c.Scores64(scores, r.req.Queries64[j*dim:(j+1)*dim], at)
	} else {
		c.Scores(scores, r.req.Queries[j*dim:(j+1)*dim], at)
	}
	shown := make([]float64, len(rows))
	collection.ShowAll(c.Metric, shown, scores)
	return shown
}
