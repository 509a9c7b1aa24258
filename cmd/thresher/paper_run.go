package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thresher/internal/cli"
	"thresher/jobs"
	"thresher/papers/figures"
)

type paperRunFlags struct {
	out, folder       string
	quick, smoke      bool
	resume, overwrite bool
	json              bool
}

func newPaperRunCommand(a *app) *cobra.Command {
	f := &paperRunFlags{}
	cmd := &cobra.Command{
		Use:   "run ID.. --out FOLDER [--quick | --smoke] [--resume]",
		Short: "Compute figures and tables of the papers",
		Long: `Compute figures and tables of the papers, by their ids (paper list), or all of them.

Each gets a folder of its name in --out: points.csv (a row for each point: counts as the
paper counts, preprocessing, precision, times), figure.svg and figure.png, settings.yaml
(each with whence it is: the paper's text, the authors' programs, or ours) and note.md:
what the paper says, what is seen, why, and how far the figure came out.

A full run of all takes hours, one with --quick minutes; --smoke shows that they run.
What is done is kept after every point, and --resume goes on there. Data sets that may
not be redistributed are read from --data, a folder with ml-1m and ml-100k as they are
distributed by GroupLens; points that need what is not there are left out, and the note
says so.`,
		Example: `  thresher paper run banditmips-1 boundedme-1 --out out
  thresher paper run all --quick --out out --resume`,
		Args: func(_ *cobra.Command, ids []string) error {
			if len(ids) == 0 {
				return errors.New("paper run: no figure named; thresher paper list lists them, all is all of them")
			}
			return nil
		},
		ValidArgsFunction: completeFigures,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if err := a.runPapers(cmd.Context(), f, ids); err != nil {
				return fmt.Errorf("paper run: %w", err)
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.out, "out", "", "`folder` for the results, in which each figure gets its own")
	fs.BoolVar(&f.quick, "quick", false, "smaller: all figures within ten minutes")
	fs.BoolVar(&f.smoke, "smoke", false, "smallest: all figures within ten seconds, only to see that they run")
	fs.BoolVar(&f.resume, "resume", false, "go on with what was begun with the same seed, size and settings")
	fs.BoolVar(&f.overwrite, "overwrite", false, "overwrite former results")
	fs.StringVar(&f.folder, "data", "", "`folder` of data sets that may not be redistributed (ml-1m, ml-100k)")
	fs.BoolVar(&f.json, "json", false, "summary as one JSON object on stdout")
	addSettings(cmd, "seed", "threads")
	fs.Lookup("seed").Usage = cli.SeedOfDraws
	return cmd
}

// completeFigures completes ids.
func completeFigures(_ *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
	ids := []string{figures.AllIDs + "\tevery figure and table"}
	for _, f := range figures.All() {
		ids = append(ids, f.ID+"\t"+f.Paper+", "+f.Shows)
	}
	var fitting []string
	for _, id := range ids {
		name, _, _ := strings.Cut(id, "\t")
		if strings.HasPrefix(name, begun) && !slices.Contains(given, name) {
			fitting = append(fitting, id)
		}
	}
	return fitting, cobra.ShellCompDirectiveNoFileComp
}

// options returns the options of the run of these figures.
func (f *paperRunFlags) options(a *app, ids []string) (figures.RunOptions, error) {
	o := figures.RunOptions{
		Out: f.out, Size: figures.Full, Seed: a.Config.Seed, Threads: cmp.Or(a.Config.Threads, runtime.GOMAXPROCS(0)), Folder: f.folder,
		Resume: f.resume, Overwrite: f.overwrite,
	}
	switch {
	case f.out == "":
		return o, errors.New("--out names the folder for the results")
	case f.quick && f.smoke:
		return o, errors.New("--quick and --smoke exclude each other")
	case f.resume && f.overwrite:
		return o, errors.New("--resume and --overwrite exclude each other")
	case f.quick:
		o.Size = figures.Quick
	case f.smoke:
		o.Size = figures.Smoke
	}
	if f.folder != "" {
		if _, err := os.ReadDir(f.folder); err != nil {
			return o, fmt.Errorf("--data: %w", err)
		}
	}
	var err error
	o.Figures, err = figures.Find(ids)
	return o, err
}

// runPapers computes figures and prints a line for each as it is done, or one JSON object in the end.
func (a *app) runPapers(ctx context.Context, f *paperRunFlags, ids []string) error {
	o, err := f.options(a, ids)
	if err != nil {
		return err
	}
	stages := a.NewStages()
	defer stages.End()
	o.Progress = func(f *figures.Figure, done float64, total int) {
		stages.Set(fmt.Sprintf("%s, %% of %d points", f.ID, total), int64(100*done/float64(max(1, total))), 100)
	}
	if !f.json {
		o.Done = func(r figures.Result) {
			stages.End()
			a.printFigure(&r)
		}
	}
	results, err := figures.Run(ctx, o)
	stages.End()
	if f.json && (err == nil || len(results) > 0) {
		text, failed := json.MarshalIndent(struct {
			Size    figures.Size     `json:"size"`
			Seed    uint64           `json:"seed"`
			Figures []figures.Result `json:"figures"`
		}{o.Size, o.Seed, results}, "", "  ")
		if failed != nil {
			return errors.Join(err, failed)
		}
		fmt.Fprintf(a.Out, "%s\n", text)
	}
	return f.failed(ctx, err)
}

func (a *app) printFigure(r *figures.Result) {
	verdict := string(r.Verdict)
	switch {
	case r.Verdict == figures.Not:
		verdict = "not reproduced"
	case r.Rows == 0:
		verdict = "nothing computed"
	case verdict == "":
		verdict = "no verdict"
	}
	text := fmt.Sprintf("%s: %s; %d points in %.1f s", r.ID, verdict, r.Points, r.Seconds)
	if r.Resumed > 0 {
		text += fmt.Sprintf(", %d of them by a former run", r.Resumed)
	}
	if len(r.Missing) > 0 {
		text += fmt.Sprintf(", %d left out, see note.md", len(r.Missing))
	}
	fmt.Fprintf(a.Out, "%s; %s\n", text, r.Folder)
}

// failed adds to an error of a run what to do about it.
func (f *paperRunFlags) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return cli.Exit(cli.ExitInterrupted, errors.New("interrupted; what is done is kept, --resume goes on"))
	case errors.Is(err, fs.ErrExist) && !f.resume:
		return fmt.Errorf("%w; --resume continues a stopped run, --overwrite overwrites", err)
	case errors.Is(err, jobs.ErrDamaged), errors.Is(err, jobs.ErrFingerprint):
		return fmt.Errorf("%w; --overwrite starts over", err)
	}
	return err
}
