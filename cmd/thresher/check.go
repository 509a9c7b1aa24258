package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/tasks"
)

type checkFlags struct {
	paths       []string // a folder, or files
	out         string   // "" without
	force, json bool
}

func newCheckCommand(a *app) *cobra.Command {
	f := &checkFlags{}
	cmd := &cobra.Command{
		Use:   "check FOLDER",
		Short: "Say which parts of an array job are missing, and join them",
		Long: `Check the answers of an array job: of searches with --part I/N, each of which answers one
of N equal parts of the queries. Arguments are the folder that the parts were written to,
or files of parts (.jsonl, .npz, .csv, .parquet).

Every file is read whole. Parts of other searches (other queries, vectors, k, metric or
limits), two files of one part and files that lack answers are refused by name. If parts
are missing their numbers are printed, on stdout with --json, and the exit code is 1:
repeat those searches.

With --out the answers of all parts are written as one file, as one search of all queries
writes them.`,
		Example: `  thresher search --vectors A.npy --queries Q.npy --metric ip -k 10 --part 0/4 --out parts/0.npz   # and 1/4, 2/4, 3/4
  thresher check parts/
  thresher check parts/ --out answers.npz`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.paths = args
			return a.runCheck(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.out, "out", "", "`file` for the answers of all parts, ending in "+endings(dataset.WholeWritten, "or")+"; - is JSON lines on stdout")
	fs.BoolVar(&f.force, "overwrite", false, "overwrite the output")
	fs.BoolVar(&f.json, "json", false, "summary as one JSON object on stdout")
	addSettings(cmd, "read_limit")
	return cmd
}

// parts returns the files of parts, and those of searches that have begun and not ended.
func (f *checkFlags) parts() (files, begun []string, err error) {
	if len(f.paths) == 0 {
		return nil, nil, errors.New("check: name the folder of the parts")
	}
	files = f.paths
	if info, err := os.Stat(f.paths[0]); err == nil && info.IsDir() {
		if len(f.paths) > 1 {
			return nil, nil, fmt.Errorf("check: %s is a folder; name it alone, or files", f.paths[0])
		}
		if files, begun, err = partsIn(f.paths[0]); err != nil {
			return nil, nil, err
		}
	}
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("check: %s has no files that end in %s%s", f.paths[0], endings(dataset.WholeWritten, "or"), unfinished(begun))
	}
	for _, path := range files {
		in, err := os.Stat(path)
		if err != nil {
			continue // opening it reports the error
		}
		if out, err := os.Stat(f.out); err == nil && os.SameFile(in, out) {
			return nil, nil, fmt.Errorf("check: %s is an input and would be overwritten", f.out)
		}
	}
	return files, begun, nil
}

// partsIn lists the files of answers in a folder, and those of which there is only a beginning.
func partsIn(folder string) (files, begun []string, err error) {
	all, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range all {
		path := filepath.Join(folder, e.Name())
		if strings.HasPrefix(e.Name(), ".") || e.IsDir() {
			continue
		}
		if of, ok := strings.CutSuffix(path, ".progress"); ok {
			begun = append(begun, of)
			continue
		}
		format, zipped := dataset.FormatOf(path)
		if isFor(format, dataset.WholeWritten) && !zipped {
			files = append(files, path)
		}
	}
	// Progress stays beside whole files of searches with --resume, too.
	begun = slices.DeleteFunc(begun, func(path string) bool { return slices.Contains(files, path) })
	return files, begun, nil
}

// unfinished words which searches have begun and not ended; "" if none.
func unfinished(begun []string) string {
	if len(begun) == 0 {
		return ""
	}
	return "; not finished: " + strings.Join(begun, ", ")
}

func (a *app) runCheck(ctx context.Context, f *checkFlags) error {
	paths, begun, err := f.parts()
	if err != nil {
		return err
	}
	m := &mergeFlags{out: f.out, force: f.force, json: f.json}
	var form dataset.AnswersForm
	if f.out != "" {
		if f.json && f.out == cli.Stdio {
			return errors.New("check: --json puts the summary on stdout, where the answers go; name an --out file")
		}
		if form, err = m.form(); err != nil {
			return err
		}
	}
	var files []tasks.PartFile
	for _, path := range paths {
		in, err := a.openInput(ctx, "answers", path)
		if err != nil {
			return err
		}
		defer in.remove()
		files = append(files, tasks.PartFile{Name: in.name, Open: in.openPart})
	}
	if f.out == "" {
		sum, err := tasks.CheckParts(ctx, files, nil)
		if err != nil {
			return fmt.Errorf("check: %w%s", err, unfinished(begun))
		}
		return a.reportCheck(f, sum, begun)
	}
	joined, err := newMergedAnswers(f.out, form)
	if err != nil {
		return err
	}
	defer joined.remove()
	sum, err := tasks.CheckParts(ctx, files, joined.add)
	if err != nil {
		return fmt.Errorf("check: %w%s", err, unfinished(begun))
	}
	if len(sum.Missing) == 0 {
		whole := &tasks.MergeSummary{Covers: sum.Covers, K: sum.K}
		for i := range sum.Covers.Shards {
			whole.Vectors += sum.Covers.Shards[i].Rows
		}
		if err := joined.write(ctx, a.Out, whole); err != nil {
			return err
		}
	}
	return a.reportCheck(f, sum, begun)
}

// openPart opens the answers to a part of the queries.
func (in input) openPart() (dataset.ResultReader, error) {
	r, err := dataset.OpenResults(in.path, in.budget())
	return r, in.named(err)
}

// reportCheck prints the summary. Missing parts and answers that are not complete return an exitError.
func (a *app) reportCheck(f *checkFlags, sum *tasks.PartsSummary, begun []string) error {
	if f.json {
		if err := json.NewEncoder(a.Out).Encode(sum); err != nil {
			return err
		}
	} else if err := printCheck(a, f, sum, begun); err != nil {
		return err
	}
	switch {
	case len(sum.Missing) > 0:
		return cli.Exit(cli.ExitWrong, fmt.Errorf("%d of %d parts are missing: %s%s", len(sum.Missing), sum.Of, ranges(sum.Missing), unfinished(begun)))
	case sum.Complete < sum.Queries:
		return cli.Exit(cli.ExitDeadline, fmt.Errorf("%d of %d answers are not complete", sum.Queries-sum.Complete, sum.Queries))
	}
	return nil
}

func printCheck(a *app, f *checkFlags, sum *tasks.PartsSummary, begun []string) error {
	t := cli.NewTable(a.Err)
	t.Row("parts", fmt.Sprintf("%d of %d", sum.Parts, sum.Of))
	if len(sum.Missing) > 0 {
		t.Row("missing", ranges(sum.Missing))
	}
	if len(begun) > 0 {
		t.Row("unfinished", strings.Join(begun, ", "))
	}
	each := "all that reach the least score"
	if sum.K > 0 {
		each = fmt.Sprintf("%d best", sum.K)
	}
	t.Row("queries", fmt.Sprintf("%d of %d, %s each, %s", sum.Queries, sum.Count, each, sum.Metric))
	t.Row("guarantee", sum.Promise)
	if f.out != "" && f.out != cli.Stdio && len(sum.Missing) == 0 {
		t.Row("answers", f.out)
	}
	return t.Flush()
}

// ranges writes ascending numbers shortly, as array jobs take them: 3,7-9.
func ranges(numbers []int64) string {
	var b strings.Builder
	for i := 0; i < len(numbers); {
		j := i + 1
		for j < len(numbers) && numbers[j] == numbers[j-1]+1 {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(numbers[i], 10))
		if j > i+1 {
			b.WriteByte('-')
			b.WriteString(strconv.FormatInt(numbers[j-1], 10))
		}
		i = j
	}
	return b.String()
}
