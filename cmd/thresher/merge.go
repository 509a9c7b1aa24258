package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/atomicfile"
	"thresher/internal/cli"
	"thresher/tasks"
)

type mergeFlags struct {
	files       []string
	out         string
	k           int
	offsets     []int64
	unchecked   bool
	force, json bool
}

func newMergeCommand(a *app) *cobra.Command {
	f := &mergeFlags{}
	cmd := &cobra.Command{
		Use:   "merge FILE FILE.. --out FILE",
		Short: "Merge answers over parts of the vectors into answers over all",
		Long: `Merge the answers to the same queries over disjoint sets of vectors.

Search each set by itself, with the same queries, metric and k, and merge the files
(.jsonl, .npz, .csv, .parquet, or .json as POST /v1/collections/NAME/search answers with
include=covers,scores64; one may be unlike the others): of each query the k best of all are taken by their float64
scores, equal ones by id, whole numbers by value before texts by their bytes. By exact
and certain these are the answers of one search of all vectors. The merged guarantee is
the worst; an answer is complete if all are. Files can be merged in any order, at once
or in several steps.

search states in each file to which queries, metric, k and vectors its answers are
(covers). Files that do not belong together, or have answers over the same vectors, are
refused. --unchecked merges files without that, of other programs for instance, by the
--metric and -k given; without scores64 such answers promise nothing.

Vectors without ids have row numbers, of which every file has its own: --offsets says
which number the first row of each file's vectors has among all, and the merged answers
have these numbers. Equal scores are then in the order of rows, as in one search.`,
		Example: `  thresher search --vectors a.parquet --queries q.npy --metric cosine -k 10 --out a.npz
  thresher search --vectors b.parquet --queries q.npy --metric cosine -k 10 --out b.npz
  thresher merge a.npz b.npz --out all.npz
  thresher merge a.npz body.json --out all.npz   # saved by curl -o body.json of a server's search`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.files = args
			return a.runMerge(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.out, "out", cli.Stdio, "`file` for the answers, ending in "+endings(dataset.WholeWritten, "or")+"; - is JSON lines on stdout")
	fs.IntVarP(&f.k, "k", "k", 0, "vectors of an answer at most; 0 = the k of the files")
	fs.Int64SliceVar(&f.offsets, "offsets", nil, "`numbers` of the first rows of the files' vectors among all, separated by commas, one a file")
	fs.BoolVar(&f.unchecked, "unchecked", false, "merge files that do not state to which queries and vectors their answers are")
	fs.BoolVar(&f.force, "overwrite", false, "overwrite the output")
	fs.BoolVar(&f.json, "json", false, "summary as one JSON object on stdout")
	addSettings(cmd, "metric", "read_limit")
	fs.Lookup("metric").Usage = "of files that do not state theirs: " + collection.MetricChoice
	return cmd
}

func (f *mergeFlags) check() error {
	switch {
	case len(f.files) == 0:
		return errors.New("merge: name the files of answers to merge")
	case stdinInputs(f.files...) > 1:
		return errors.New("merge: only one file can be standard input")
	case f.k < 0:
		return fmt.Errorf("merge: -k %d is negative", f.k)
	case f.json && f.out == cli.Stdio:
		return errors.New("merge: --json puts the summary on stdout, where the answers go; name an --out file")
	case f.offsets != nil && len(f.offsets) != len(f.files):
		return fmt.Errorf("merge: --offsets has %d numbers for %d files", len(f.offsets), len(f.files))
	}
	for _, path := range f.files {
		in, err := os.Stat(path)
		if err != nil {
			continue // opening it reports the error
		}
		if out, err := os.Stat(f.out); err == nil && os.SameFile(in, out) {
			return fmt.Errorf("merge: %s is an input and would be overwritten", f.out)
		}
	}
	return nil
}

// form returns the form of the output, after checking that it can be written.
func (f *mergeFlags) form() (dataset.AnswersForm, error) {
	if f.out == cli.Stdio {
		return dataset.AnswersForm{Format: dataset.JSONL, Lines: true}, nil
	}
	form, ok := dataset.AnswersFormOf(f.out)
	if _, zipped := dataset.FormatOf(f.out); zipped || !ok || form.Bare {
		return form, noneOf("out", f.out, dataset.WholeWritten)
	}
	if info, err := os.Stat(filepath.Dir(f.out)); err != nil || !info.IsDir() {
		return form, fmt.Errorf("--out %s: there is no folder %s", f.out, filepath.Dir(f.out))
	}
	return form, cli.RefuseExisting(f.force, f.out)
}

func (a *app) runMerge(ctx context.Context, f *mergeFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	form, err := f.form()
	if err != nil {
		return err
	}
	o := &tasks.MergeOptions{K: f.k, Offsets: f.offsets, Unchecked: f.unchecked}
	if a.Config.Metric != "" {
		if o.Metric, err = collection.ParseMetric(a.Config.Metric); err != nil {
			return err
		}
	}
	var files []tasks.MergeFile
	for _, path := range f.files {
		in, err := a.openInput(ctx, "answers", path)
		if err != nil {
			return err
		}
		defer in.remove()
		r, err := dataset.OpenResults(in.path, in.budget())
		if err != nil {
			return in.named(err)
		}
		defer r.Close() // read only
		files = append(files, tasks.MergeFile{Name: in.name, Results: r})
	}
	merged, err := newMergedAnswers(f.out, form)
	if err != nil {
		return err
	}
	defer merged.remove()
	sum, err := tasks.Merge(ctx, files, o, merged.add)
	if err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	if err := merged.write(ctx, a.Out, sum); err != nil {
		return err
	}
	return a.reportMerge(f, sum)
}

// mergedAnswers collects merged answers in a temporary file, since some formats begin with what is
// known at the end.
type mergedAnswers struct {
	out     string
	form    dataset.AnswersForm
	spool   *os.File
	w       *bufio.Writer
	record  []byte
	longest int  // vectors of the longest answer
	named   bool // vectors have ids
	whole   bool // all of them are whole numbers
}

// newMergedAnswers creates the temporary file, which remove deletes.
func newMergedAnswers(out string, form dataset.AnswersForm) (*mergedAnswers, error) {
	dir := "" // the system's
	if out != cli.Stdio {
		dir = filepath.Dir(out)
	}
	spool, err := os.CreateTemp(dir, ".thresher-merge-*")
	if err != nil {
		return nil, err
	}
	return &mergedAnswers{out: out, form: form, spool: spool, w: bufio.NewWriterSize(spool, 1<<20), whole: true}, nil
}

func (m *mergedAnswers) remove() {
	m.spool.Close()
	os.Remove(m.spool.Name()) // a failure leaves a hidden file
}

func (m *mergedAnswers) add(r *dataset.Result) error {
	m.longest = max(m.longest, r.Found())
	m.named = m.named || r.IDs != nil
	m.whole = m.whole && dataset.AreWhole(r.IDs)
	m.record = dataset.AppendRecord(m.record[:0], r)
	_, err := m.w.Write(m.record)
	return err
}

// write writes the answers to the output, atomically, or to stdout.
func (m *mergedAnswers) write(ctx context.Context, stdout io.Writer, sum *tasks.MergeSummary) error {
	if err := m.w.Flush(); err != nil {
		return err
	}
	from := contextReadSeeker{contextReader{ctx, m.spool}, m.spool}
	if m.out == cli.Stdio {
		return m.assemble(from, stdout, sum)
	}
	out, err := atomicfile.Create(m.out, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", m.out, err)
	}
	defer out.Discard()
	if err = m.assemble(from, out, sum); err == nil {
		err = out.Commit(true)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.out, err)
	}
	return nil
}

func (m *mergedAnswers) assemble(from io.ReadSeeker, out io.Writer, sum *tasks.MergeSummary) error {
	var covers json.RawMessage
	if sum.Covers != nil {
		var err error
		if covers, err = json.Marshal(sum.Covers); err != nil {
			return err
		}
	}
	if m.form.Matrix && sum.K == 0 {
		others := strings.ReplaceAll(endings(dataset.WholeWritten, "or"), m.form.Format.Extension()+", ", "")
		return errors.New("answers of varying length do not fit a matrix; add -k, or write " + others)
	}
	if !m.form.Lines {
		width := sum.K
		if sum.Vectors > 0 {
			width = int(min(int64(width), sum.Vectors))
		}
		return m.form.Assemble(from, covers, max(width, m.longest), out)
	}
	each := dataset.Covering(from, covers)
	w := bufio.NewWriter(out)
	var line []byte
	err := each(func(_ int64, r *dataset.Result) error {
		if m.named && r.IDs == nil {
			r.IDs = []string{} // of no vector
		}
		line = dataset.AppendJSONL(line[:0], r, m.whole)
		_, err := w.Write(line)
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// reportMerge prints the summary. Answers that are not complete return an exitError.
func (a *app) reportMerge(f *mergeFlags, sum *tasks.MergeSummary) error {
	if f.json {
		if err := json.NewEncoder(a.Out).Encode(sum); err != nil {
			return err
		}
	} else if err := printMerge(a, f, sum); err != nil {
		return err
	}
	if sum.Complete == sum.Queries {
		return nil
	}
	return cli.Exit(cli.ExitDeadline, fmt.Errorf("%d of %d answers are not complete, because a file's are not", sum.Queries-sum.Complete, sum.Queries))
}

func printMerge(a *app, f *mergeFlags, sum *tasks.MergeSummary) error {
	t := cli.NewTable(a.Err)
	t.Row("merged", strings.Join(f.files, ", "))
	if !sum.Unchecked {
		t.Row("vectors", fmt.Sprintf("%d of %d searches, %s", sum.Vectors, sum.Shards, sum.Metric))
	}
	each := "all that reach the least score"
	if sum.K > 0 {
		each = fmt.Sprintf("%d best", sum.K)
	}
	t.Row("queries", fmt.Sprintf("%d, %s each", sum.Queries, each))
	t.Row("guarantee", sum.Promise)
	if f.out != cli.Stdio {
		t.Row("answers", f.out)
	}
	if sum.Unchecked {
		t.Row("warning", "files do not state to which queries and vectors their answers are; that they belong together was not checked")
	}
	return t.Flush()
}
