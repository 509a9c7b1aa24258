package offline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unsafe"

	"thresher/batch"
	"thresher/dataset"
	"thresher/jobs"
	"thresher/service/problem"
	"thresher/service/wire"
	"thresher/tasks"
)

// chooseKind decides how the input is read: as a matrix if its name or the Spec says so,
// otherwise as requests.
func (rec *record) chooseKind() error {
	b := &rec.Batch
	format, zipped := dataset.FormatOf(rec.InputName)
	rec.Matrix = b.Search != nil || b.Goals != nil || b.Column != "" || b.Header != "" || b.OutputFormat != "" || format != dataset.JSONL && format != dataset.Unknown
	if !rec.Matrix && zipped {
		return problem.New(problem.UnsupportedMedia, "file %s of requests is compressed; only matrices may be", b.InputFileID).In("input_file_id")
	}
	if rec.Matrix && b.OutputFormat == "" {
		b.OutputFormat = string(dataset.JSONL)
	}
	return nil
}

// checkSearch checks the options of a matrix against the collection, before anything is
// recorded.
func (m *Manager) checkSearch(ctx context.Context, rec *record) error {
	if !rec.Matrix {
		return nil
	}
	at := rec.Batch.Collections[0]
	s, err := m.library.use(ctx, at.Name, at.Version)
	if err != nil {
		return err
	}
	defer s.release()
	r, err := rec.options(s, m.o.Limits)
	if err != nil {
		return err
	}
	if rec.Width = r.search.K; rec.Width > 0 || !isMatrix(rec.Batch.OutputFormat) {
		return nil
	}
	others := slices.DeleteFunc(outputFormats(), isMatrix)
	return problem.New(problem.InvalidValue, "answers of varying length do not fit the matrices of %s; set k, or output_format %s", rec.Batch.OutputFormat, strings.Join(others, " or ")).In("output_format")
}

// isMatrix reports whether answers in a format have all as many vectors.
func isMatrix(format string) bool {
	form, ok := dataset.AnswersFormOf(dataset.Format(format).Extension())
	return ok && form.Matrix
}

// options returns the options of the matrix's searches, as a request without queries.
func (rec *record) options(s shelf, limits wire.Limits) (*request, error) {
	r := &request{shelf: s}
	body, err := r.withQuery(rec.Batch.Search, s.dim())
	if err != nil {
		return nil, err
	}
	if err := r.decode(body, limits); err != nil {
		var p *problem.Problem
		if errors.As(err, &p) && p.Field != "" {
			in := *p
			in.Field = "search." + p.Field
			return nil, &in
		}
		return nil, err
	}
	return r, nil
}

// withQuery returns the body of a search with these options for a query of zeros, so that the
// options can be read as those of any search, and records whether k is named.
func (r *request) withQuery(options json.RawMessage, dim int) ([]byte, error) {
	members := map[string]json.RawMessage{}
	if options != nil {
		if err := json.Unmarshal(options, &members); err != nil {
			return nil, problem.New(problem.Malformed, "search is not a JSON object: %v", err).In("search")
		}
	}
	if _, given := members["queries"]; given {
		return nil, problem.New(problem.UnknownField, "search holds queries; those of this batch are in its input file").In("search.queries")
	}
	if _, given := members["goals"]; given {
		return nil, problem.New(problem.UnknownField, "search holds goals, one a query; the options of a file of vectors hold for all of its rows").In("search.goals")
	}
	_, r.named = members["k"]
	r.cut = string(members["cut_k"]) == "true"
	members["queries"] = fmt.Appendf(nil, "[[0%s]]", strings.Repeat(",0", dim-1))
	return json.Marshal(members)
}

// rows is the jobs.Source of a matrix.
type rows struct {
	rec    *record
	r      dataset.Reader
	goals  *rowGoals // nil if all rows ask for the same
	path   string    // of the link, which clients do not see
	chunk  int       // rows
	memory [2]queryRows
	turn   int
	typed  dataset.TypedReader // r in float64, for vectors that are kept so; else nil
	ended  bool
	digest *tasks.QueryDigest // of the rows read; nil if none is wanted
}

// maxElements bounds the memory of a chunk of long rows: 64 MiB, in float64 twice as much.
const maxElements = 1 << 24

// queryRows are rows of a matrix: wide, as they are given, for vectors that are kept as float64, else narrow.
type queryRows struct {
	narrow []float32
	wide   []float64
}

// rowChunk is consecutive rows, and their goals unless all rows ask for the same.
type rowChunk struct {
	queries queryRows
	changes []float64 // by rounding, of each; nil if there are none
	ids     []string  // of the queries; nil if they have none
	goals   []batch.QueryGoal
}

// openRows opens the input of a batch with these options, whose answers have at most so many
// atoms.
func (j *job) openRows(rec *record, options *request, answers int) (*rows, error) {
	s := &rows{rec: rec, path: j.path(rec.inputName())}
	var err error
	if s.r, err = dataset.Open(s.path, j.reading(rec, options.shelf, options.shelf.origin())); err != nil {
		return nil, s.named(err)
	}
	if options.shelf.float64s() {
		s.typed = dataset.Doubled(s.r)
	}
	if s.goals, err = j.openGoals(rec, options); err != nil {
		s.close()
		return nil, err
	}
	s.chunk = max(1, min(rec.Chunk, maxElements/s.r.Dim(), maxAtoms/max(1, answers)))
	return s, nil
}

// reading says how the rows of a matrix are read as queries to a shelf, relative to an origin; nil is zero.
func (j *job) reading(rec *record, of shelf, origin []float64) *dataset.Options {
	return &dataset.Options{Column: rec.Batch.Column, Header: rec.Batch.Header, FindIDs: true, Except: besides(rec.Batch.Goals), OneRow: true,
		Like: of.coordinates(), Origin: origin, DenseLimit: j.m.o.DenseLimit, Budget: j.m.o.Budget, Words: dataset.Words{Column: "column", Header: "header", DenseLimit: "the setting dense_limit"}}
}

// named replaces the file's path in an error by the client's name.
func (s *rows) named(err error) error {
	var e *dataset.Error
	if errors.Is(err, dataset.ErrNoRows) {
		return failed(emptyFile, 0, "%s holds no row", s.rec.InputName)
	}
	if errors.As(err, &e) {
		e.File = strings.Replace(e.File, s.path, s.rec.InputName, 1)
		kind := problem.Malformed
		if limit := new(dataset.LimitError); errors.As(err, &limit) {
			kind = problem.OverLimit
		}
		return problem.New(kind, "%v", e).In("input_file_id").Because(err)
	}
	return err
}

func (s *rows) close() {
	s.r.Close() // read only
	if s.goals != nil {
		s.goals.close()
	}
}

// Skip skips rows that were answered.
func (s *rows) Skip(ctx context.Context, n int64) error {
	for left := n; left > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		got, err := s.read(s.buffer(), 0, int(min(left, int64(s.chunk))))
		left -= int64(got)
		if err == io.EOF {
			return fmt.Errorf("the input holds %d rows, %d are answered already", n-left, n)
		}
		if err != nil {
			return s.named(err)
		}
	}
	if s.goals != nil {
		return s.goals.skip(ctx, n)
	}
	return nil
}

// Next returns the next rows: a chunk, or fewer whose goals list many ids.
func (s *rows) Next(ctx context.Context) (next rowChunk, n int, err error) {
	s.turn = 1 - s.turn
	buf, dim := s.buffer(), s.r.Dim()
	at, listed := s.chunk, 0
	for n < s.chunk && listed < maxAtoms && !s.ended {
		if ctx.Err() != nil {
			return next, 0, context.Cause(ctx)
		}
		if s.goals != nil {
			at = n + 1
		}
		got, err := s.read(buf, n, at)
		switch {
		case s.typed != nil && s.digest != nil:
			s.digest.AddGiven(buf.wide[n*dim : (n+got)*dim])
		case s.digest != nil:
			s.digest.Add(buf.narrow[n*dim:(n+got)*dim], dataset.GivenOf(s.r))
		}
		n += got
		if s.typed == nil {
			next.changes = append(next.changes, dataset.RowChanges(s.r)...)
		}
		next.ids = append(next.ids, s.r.IDs()...)
		if err == io.EOF {
			s.ended = true
			break
		}
		if err != nil {
			return next, 0, s.named(err)
		}
		if s.goals == nil || got == 0 {
			continue
		}
		goal, ids, err := s.goals.row()
		if err != nil {
			return next, 0, err
		}
		next.goals = append(next.goals, goal)
		listed += ids
	}
	if n == 0 {
		return next, 0, io.EOF
	}
	if s.typed != nil {
		next.queries.wide = buf.wide[:n*dim]
	} else {
		next.queries.narrow = buf.narrow[:n*dim]
	}
	return next, n, nil
}

// buffer returns memory for a chunk.
func (s *rows) buffer() queryRows {
	of := &s.memory[s.turn]
	switch values := s.chunk * s.r.Dim(); {
	case s.typed != nil && of.wide == nil:
		of.wide = make([]float64, values)
	case s.typed == nil && of.narrow == nil:
		of.narrow = make([]float32, values)
	}
	return *of
}

// read reads the next rows, at most end-from, to places from to end-1 of memory.
func (s *rows) read(to queryRows, from, end int) (int, error) {
	dim := s.r.Dim()
	if s.typed == nil {
		return s.r.Read(to.narrow[from*dim : end*dim])
	}
	values := to.wide[from*dim : end*dim]
	return s.typed.ReadTyped(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 8*len(values)))
}

// rowCount is what a pass over a matrix finds.
type rowCount struct {
	total  int64
	width  int             // the greatest k of the goals of rows, 0 without goals
	covers json.RawMessage // what its answers cover; nil if that is not known
}

// countRows reads the whole matrix, with the goals of its rows.
func (j *job) countRows(rec *record) (count rowCount, err error) {
	at := rec.Batch.Collections[0]
	c, err := j.m.library.use(j.ctx, at.Name, at.Version)
	if err != nil {
		return count, err
	}
	defer c.release()
	options, err := rec.options(c, j.m.o.Limits)
	if err != nil {
		return count, err
	}
	s, err := j.openRows(rec, options, 1)
	if err != nil {
		return count, err
	}
	defer s.close()
	if got, want := s.r.Dim(), c.dim(); got != want {
		return count, problem.New(problem.WrongDimension, "%s has vectors of dimension %d, collection %s of dimension %d", rec.InputName, got, at.Name, want).In("input_file_id").Within(want)
	}
	digest := tasks.NewQueryDigest(c.dim())
	if c.origin() == nil {
		if s.typed == nil {
			dataset.KeepGiven(s.r)
		}
		s.digest = digest
	}
	for {
		_, n, err := s.Next(j.ctx)
		if err == io.EOF {
			return count, j.endCount(&count, s, options, digest)
		}
		if err != nil {
			return count, err
		}
		if count.total += int64(n); count.total > j.m.o.Requests {
			return count, failed(problem.OverLimit, 0, "%s has more than %d rows", rec.InputName, j.m.o.Requests)
		}
	}
}

// endCount adds to a count, after the last row, what the goals say and what the answers cover. Rows that are read
// relative to an origin are read again; queries that cannot be read without it are not told apart.
func (j *job) endCount(count *rowCount, s *rows, options *request, digest *tasks.QueryDigest) error {
	if s.goals != nil {
		count.width = s.goals.maxK
		if err := s.goals.end(); err != nil {
			return err
		}
	}
	if s.digest == nil {
		err := j.digestRows(s.rec, options.shelf, digest)
		if j.ctx.Err() != nil {
			return context.Cause(j.ctx)
		}
		if err != nil {
			return nil
		}
	}
	var err error
	count.covers, err = j.coverage(s.rec, options, digest)
	return err
}

// errExpired stops a matrix whose completion window has ended.
var errExpired = errors.New("the completion window is over")

// answerRows answers a matrix from its last durable chunk to its end, and seals it.
func (j *job) answerRows(rec *record) error {
	at := rec.Batch.Collections[0]
	c, err := j.m.library.use(j.ctx, at.Name, at.Version)
	if err != nil {
		return err
	}
	defer c.release()
	options, err := rec.options(c, j.m.o.Limits)
	if err != nil {
		return err
	}
	_, answers := options.size()
	src, err := j.openRows(rec, options, max(answers, rec.Width))
	if err != nil {
		return err
	}
	defer src.close()
	w := &rowWork{j: j, rec: rec, options: options, watch: j.newWatch(), asker: asker{gate: &j.m.gate, slice: rec.Slice}}
	sum, err := jobs.Run(j.ctx, w.watch.spec(rec), src, w.chunk)
	if errors.Is(err, errExpired) {
		return j.seal(Expired, nil)
	}
	if err != nil {
		return err
	}
	t, err := decodeTally(sum.Totals)
	if err != nil {
		return err
	}
	return j.sealAt(Completed, nil, t)
}

// rowWork answers chunks of rows.
type rowWork struct {
	j       *job
	rec     *record
	options *request
	watch   *watch
	asker
}

// chunk implements jobs.Work.
func (w *rowWork) chunk(ctx context.Context, chunk rowChunk, first int64, totals []byte) ([][]byte, []byte, error) {
	if w.j.expired() {
		return nil, nil, errExpired
	}
	w.run = tasks.SearchRun{}
	dim := w.options.shelf.dim()
	parts := make([]part, max(len(chunk.queries.narrow), len(chunk.queries.wide))/dim)
	for i := range parts {
		if chunk.queries.wide != nil {
			parts[i].wide = chunk.queries.wide[i*dim : (i+1)*dim]
		} else {
			parts[i].queries = chunk.queries.narrow[i*dim : (i+1)*dim]
		}
		if chunk.changes != nil {
			parts[i].changes = chunk.changes[i : i+1]
		}
		if chunk.goals != nil {
			parts[i].goals = chunk.goals[i : i+1]
		}
	}
	ask := w.options.ask()
	ask.SearchScores = true
	if chunk.goals != nil {
		ask.K = 0 // the goals have it
	}
	answers, err := w.ask(ctx, w.options.shelf, ask, parts)
	if err != nil {
		return nil, nil, err
	}
	var count tally
	var out, errs []byte
	for i, f := range answers {
		row := first + int64(i)
		count.Queries++
		if f.wrong != nil {
			count.Failed++
			errs = appendRowError(errs, row, f.wrong)
			f.answers = make([]batch.Answer, 1) // the row stays in the output
		} else {
			count.Completed++
		}
		id := ""
		if chunk.ids != nil {
			id = chunk.ids[i]
		}
		if out, err = w.encode(out, row, id, &f.answers[0]); err != nil {
			return nil, nil, err
		}
	}
	newTotals, err := w.watch.add(totals, count, &w.run.SearchCounts)
	return [][]byte{out, errs}, newTotals, err
}

// encode appends the answer of a row, whose id is "" if it has none, in the format of the result log or
// of the output itself.
func (w *rowWork) encode(dst []byte, row int64, id string, a *batch.Answer) ([]byte, error) {
	naming := w.options.shelf.naming()
	r := naming.Result(row, a)
	r.QueryID = id
	if row == 0 {
		r.Covers = w.rec.Covers
	}
	if w.rec.isAssembled() {
		return dataset.AppendRecord(dst, &r), nil
	}
	if s := w.options.search; s.Certificate || s.Rounds {
		c := a.Certificate
		if !s.Rounds {
			c.Looks = nil
		}
		text, err := json.Marshal(&c)
		if err != nil {
			return nil, fmt.Errorf("certificate of row %d: %w", row, err)
		}
		if c.Pulls == wire.Withheld {
			text = wire.AppendCertificate(nil, &c)
		}
		r.Certificate = text
	}
	return dataset.AppendJSONL(dst, &r, naming.Whole()), nil
}

// appendRowError appends the line of a row that could not be answered.
func appendRowError(dst []byte, row int64, p *problem.Problem) []byte {
	body, _ := json.Marshal(p.Error()) // a string has JSON
	return fmt.Appendf(dst, "{\"query\":%d,\"error\":{\"code\":%q,\"message\":%s}}\n", row, p.Kind, bytes.TrimSpace(body))
}
