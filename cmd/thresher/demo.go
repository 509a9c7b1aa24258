package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thresher/cmd/thresher/internal/corpus"
	"thresher/cmd/thresher/internal/demo"
	"thresher/dataset"
	"thresher/internal/cli"
)

type demoFlags struct {
	queries     []string
	sample      int
	save        string
	embedded    bool
	force, json bool
	showLicense bool
}

func newDemoCommand(a *app) *cobra.Command {
	f := &demoFlags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Search the doc comments of Go's standard library",
		Long: `Search real text: the doc comments of Go's standard library, from the installed Go
tree or, if there is none, from an extract in the binary. It answers questions in
plain words, then searches every comment against all others next to a dense scan,
then explains one certificate line by line.`,
		Example: `  thresher demo
  thresher demo --query "list the files in a directory"`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runDemo(cmd, f) },
	}
	cmd.Flags().StringArrayVar(&f.queries, "query", nil, "`text` to search for, in plain words, instead of the built-in questions and the comparison; may be repeated")
	cmd.Flags().IntVar(&f.sample, "sample", 0, "`queries` that the dense scan answers for comparison; 0 = 512, -1 = all")
	cmd.Flags().BoolVar(&f.embedded, "embedded", false, "use the extract in the binary even if there is a Go tree")
	cmd.Flags().StringVar(&f.save, "save", "", "`file` (.npy) to write the vectors to")
	cmd.Flags().BoolVar(&f.force, "overwrite", false, "overwrite the file of --save")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object with all figures on stdout")
	cmd.Flags().BoolVar(&f.showLicense, "license", false, "print the licence of the texts and stop")
	addSettings(cmd, "delta", "seed", "threads", "backend", "device", "kernels", "costs")
	cmd.Flags().Lookup("backend").Usage += autoIsCPU
	return cmd
}

func (f *demoFlags) check() error {
	switch {
	case f.save != "" && filepath.Ext(f.save) != ".npy":
		return fmt.Errorf("demo: --save %s: name does not end in .npy", f.save)
	case f.sample < -1:
		return fmt.Errorf("demo: --sample %d is below -1", f.sample)
	case slices.ContainsFunc(f.queries, func(q string) bool { return strings.TrimSpace(q) == "" }):
		return errors.New("demo: --query: no words")
	}
	return nil
}

func (a *app) runDemo(cmd *cobra.Command, f *demoFlags) error {
	if f.showLicense {
		_, err := fmt.Fprint(a.Out, corpus.License)
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	if f.save != "" {
		if err := cli.RefuseExisting(f.force, f.save); err != nil {
			return err
		}
	}
	o := &demo.Options{
		Delta: a.Config.Delta, Seed: a.Config.Seed, Threads: a.Config.Threads,
		Queries: f.queries, Sample: f.sample,
	}
	if f.embedded {
		o.Load = func(context.Context) (*corpus.Corpus, error) { return corpus.Embedded() }
	}
	if f.save != "" {
		o.Keep = func(n, dim int, rows []float32) error { return saveVectors(f.save, n, dim, rows) }
	}
	b, err := a.openBackend()
	if err != nil {
		return err
	}
	defer b.Close()
	o.Backend = b
	if o.Costs, err = a.costs(cmd.Context(), b); err != nil {
		return err
	}
	stages := a.NewStages()
	defer stages.End()
	o.Progress = stages.Set

	if !f.json {
		_, err := demo.Run(cmd.Context(), o, clearing{a, stages})
		return err
	}
	r, err := demo.Run(cmd.Context(), o, nil)
	if err != nil {
		return err
	}
	stages.End()
	return json.NewEncoder(a.Out).Encode(r)
}

// clearing removes the bar before text is written, because both may go to one terminal.
type clearing struct {
	app    *app
	stages *cli.Stages
}

func (c clearing) Write(p []byte) (int, error) {
	c.stages.End()
	return c.app.Out.Write(p)
}

// saveVectors writes rows to a new file at path; after an error there is none.
func saveVectors(path string, n, dim int, rows []float32) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	defer func() {
		if closing := out.Close(); err == nil {
			err = closing
		}
		if err != nil {
			os.Remove(path)
			err = fmt.Errorf("--save %s: %w", path, err)
		}
	}()
	w := bufio.NewWriter(out)
	if err := dataset.WriteNPY(w, n, dim, rows); err != nil {
		return err
	}
	return w.Flush()
}
