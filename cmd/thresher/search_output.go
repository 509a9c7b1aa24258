package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/atomicfile"
	"thresher/internal/cli"
)

// answerFiles are the output files of a search. JSON lines are appended to the output itself.
// The size of other formats is known only at the end, so their answers are first written to a
// result log next to the output.
type answerFiles struct {
	out          string
	certificates string // "" without
	scores       string // a file of the scores alone, "" without
	form         dataset.AnswersForm
	width        int // columns of a matrix of answers; 0 = any
	// ids are written in place of row numbers where there is room for one integer only and --ids asks
	// for them; nil otherwise.
	ids []int64
	// rows are those of the graph that is written in place of the answers; nil without one.
	rows *graphRows
	// whole says that the ids of all atoms are whole numbers, as which JSON lines have them.
	whole bool
	// covers is what the answers are for, as JSON; nil if the format does not state it.
	covers json.RawMessage
	// first is the query from which the answers are.
	first int64
}

// newAnswerFiles checks the outputs before anything is read.
func newAnswerFiles(f *searchFlags) (*answerFiles, error) {
	o := &answerFiles{out: f.out, certificates: f.certificates, scores: f.scores, form: dataset.AnswersForm{Format: dataset.JSONL, Lines: true}}
	if f.out == cli.Stdio {
		return o, nil
	}
	format, zipped := dataset.FormatOf(f.out)
	form, answers := dataset.AnswersFormOf(f.out)
	switch {
	case isHDF5(f.out):
		return nil, fmt.Errorf("--out %s: HDF5 is not supported; write .npz, which truth --help says how to convert", f.out)
	case zipped:
		return nil, fmt.Errorf("--out %s: compressed output is not supported; drop .gz", f.out)
	case f.verb == graph && !isFor(format, dataset.EdgesWritten):
		return nil, noneOf("out", f.out, dataset.EdgesWritten)
	case f.verb != graph && !answers:
		return nil, noneOf("out", f.out, dataset.AnswersWritten)
	case f.deadline > 0 && form.Bare:
		return nil, fmt.Errorf("--out %s: --deadline may stop answers, and %s cannot say which; write %s", f.out, format, endings(dataset.WholeWritten, "or"))
	}
	o.form = form
	o.form.Format = format // of a graph
	if f.verb == graph {
		o.rows = &graphRows{}
	}
	if info, err := os.Stat(filepath.Dir(f.out)); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("--out %s: there is no folder %s", f.out, filepath.Dir(f.out))
	}
	if err := cli.RefuseFolders(o.files()...); err != nil {
		return nil, err
	}
	if f.force {
		return o, nil
	}
	_, err := os.Lstat(o.progress())
	begun := err == nil
	if begun && !f.resume {
		return nil, fmt.Errorf("%s: an earlier run left its progress: %w; --resume continues it, --overwrite starts over", o.progress(), fs.ErrExist)
	}
	if begun {
		return o, nil
	}
	for _, path := range o.files() {
		if err := cli.RefuseExisting(false, path); err != nil && f.resume {
			return nil, fmt.Errorf("%w; there is nothing to resume without %s", err, o.progress())
		} else if err != nil {
			return nil, err
		}
	}
	return o, nil
}

// progress returns the path of the durable progress.
func (o *answerFiles) progress() string { return o.out + ".progress" }

// outputs returns the files that the job appends to.
func (o *answerFiles) outputs() []string {
	answers := o.out
	if o.isAssembled() {
		answers += ".spool"
	}
	if o.certificates == "" {
		return []string{answers}
	}
	return []string{answers, o.certificates}
}

// exists reports whether there is anything that a run which starts over gives up when it begins.
func (o *answerFiles) exists() bool {
	return slices.ContainsFunc(append(o.outputs(), o.progress()), func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	})
}

// files returns all files that the search writes but the progress.
func (o *answerFiles) files() []string { return append(o.results(), o.outputs()...) }

// results returns the files that are left at the end.
func (o *answerFiles) results() []string {
	all := []string{o.out}
	for _, path := range []string{o.certificates, o.scores} {
		if path != "" {
			all = append(all, path)
		}
	}
	return all
}

func (o *answerFiles) isAssembled() bool { return o.rows != nil || !o.form.Lines }

// hasScores64 reports whether the output has scores in float64.
func (o *answerFiles) hasScores64() bool {
	return o.rows == nil && !o.form.Bare
}

// setWidth sets the most atoms of an answer, 0 for any number.
func (o *answerFiles) setWidth(k int) error {
	o.width = k
	if k == 0 && (o.form.Matrix || o.scores != "") {
		return fmt.Errorf("--out %s: answers of varying length do not fit a matrix; add -k, or write .jsonl, .parquet or .ibin", o.out)
	}
	return nil
}

// nameAtoms makes matrices of integers alone hold the ids of the column that --ids names, which is
// column.
func (o *answerFiles) nameAtoms(a *atoms, in input, column string) error {
	o.whole = a.names.Whole()
	if column == "" || o.rows != nil || !o.form.Bare {
		return nil
	}
	o.ids = make([]int64, a.names.Len())
	for row := range o.ids {
		name := a.names.Text(int64(row))
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil || id < 0 || id > math.MaxInt32 || strconv.FormatInt(id, 10) != name {
			return fmt.Errorf("--out %s: %s holds integers below 2^31, and the id of row %d of %s in column %s is %.60q; write %s, or row numbers, without --ids", o.out, o.form.Format, row, in.name, column, name, endings(dataset.WholeWritten, "or"))
		}
		o.ids[row] = id
	}
	return nil
}

// statesCoverage reports whether the output has room for what the answers are for.
func (o *answerFiles) statesCoverage() bool {
	return o.rows == nil && !o.form.Bare
}

// encode returns the bytes to append to each output, which have done answers. metric is that of the answers, names are the ids of the atoms
// and queryIDs those of the queries, nil without.
func (o *answerFiles) encode(answers []batch.Answer, done int64, metric collection.Metric, names *dataset.IDs, queryIDs []string) ([][]byte, error) {
	out := make([][]byte, len(o.outputs()))
	for j := range answers {
		a := &answers[j]
		certificate, err := json.Marshal(&a.Certificate)
		if err != nil {
			return nil, fmt.Errorf("certificate of query %d: %w", o.first+done+int64(j), err)
		}
		r := dataset.Result{
			Query: o.first + done + int64(j), Rows: a.IDs, Scores: a.Scores, Scores64: asShown(a.SearchScores, metric),
			Pulls: a.Certificate.Pulls, Exact: a.Certificate.Exact,
			Partial: a.Certificate.StoppedBy != batch.Done, Guarantee: string(a.Certificate.Guarantee),
			Delta: a.Certificate.Delta, Epsilon: a.Certificate.Epsilon,
		}
		if done+int64(j) == 0 {
			r.Covers = o.covers
		}
		if queryIDs != nil {
			r.QueryID = queryIDs[j]
		}
		if names != nil && o.rows == nil {
			r.IDs = make([]string, len(a.IDs))
			for i, id := range a.IDs {
				r.IDs[i] = names.Text(id)
			}
		}
		if o.ids != nil {
			r.Rows = make([]int64, len(a.IDs))
			for i, row := range a.IDs {
				r.Rows[i] = o.ids[row]
			}
		}
		if o.isAssembled() {
			numbered := r
			if o.form.Matrix {
				numbered.Query = done + int64(j) // without query numbers, from the part's first
			}
			out[0] = dataset.AppendRecord(out[0], &numbered)
		} else {
			r.Certificate = certificate
			out[0] = dataset.AppendJSONL(out[0], &r, o.whole)
		}
		if o.certificates != "" {
			out[1] = fmt.Appendf(out[1], `{"query":%d,"certificate":%s}`+"\n", r.Query, certificate)
		}
	}
	return out, nil
}

// asShown converts search scores, which it overwrites, to those of users.
func asShown(scores []float64, metric collection.Metric) []float64 {
	for i, s := range scores {
		scores[i] = metric.Shown(s)
	}
	return scores
}

// assemble converts the result log to the final files, each atomically.
func (o *answerFiles) assemble(ctx context.Context) error {
	if !o.isAssembled() {
		return nil
	}
	results, err := os.Open(o.outputs()[0])
	if err != nil {
		return err
	}
	defer results.Close()
	from := contextReadSeeker{contextReader{ctx, results}, results}
	if o.scores != "" {
		err := writeWhole(o.scores, func(out io.Writer) error {
			format, _ := dataset.FormatOf(o.scores)
			return dataset.AssembleScores(from, o.width, format, out)
		})
		if err != nil {
			return err
		}
	}
	return writeWhole(o.out, func(out io.Writer) error { return o.assembleAnswers(from, out) })
}

func (o *answerFiles) assembleAnswers(from io.ReadSeeker, out io.Writer) error {
	if o.rows != nil {
		return o.rows.write(from, o.form.Format, out)
	}
	return o.form.Assemble(from, o.covers, o.width, out)
}

// writeWhole writes a file atomically.
func writeWhole(path string, write func(out io.Writer) error) (err error) {
	out, err := atomicfile.Create(path, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer out.Discard()
	if err = write(out); err == nil {
		err = out.Commit(true) // a crashed run may already have written it
	}
	if err != nil {
		return fmt.Errorf("%s: %w; no answers are lost, and --resume writes the file", path, err)
	}
	return nil
}

// contextReadSeeker is a result log whose reads fail once its context has ended.
type contextReadSeeker struct {
	contextReader
	io.Seeker
}

// clear deletes the result log after the progress.
func (o *answerFiles) clear() error {
	if !o.isAssembled() {
		return nil
	}
	return removeIfThere(o.outputs()[0])
}

// removeIfThere removes a file, which may be missing.
func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
