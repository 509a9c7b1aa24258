package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/cli"
)

type buildFlags struct {
	atoms, column, ids, out string
	force, json             bool
}

func newBuildCommand(a *app) *cobra.Command {
	f := &buildFlags{}
	cmd := &cobra.Command{
		Use:   "build --vectors FILE --metric NAME --out FILE.thresher",
		Short: "Build a collection once, to search it many times",
		Long: `Build a collection: rotate and code the vectors and write them to one file, which
search, bench and verify accept as --vectors. Opening the file verifies its checksums
and maps it into memory. The file keeps its --seed, 1 by default, so that builds
repeat; use a secret one if users may search for queries that fail. Ids of the vectors
are kept beside it, in FILE.thresher.ids.npz; every command reads them.`,
		Example: `  thresher build --vectors A.parquet --metric cosine --ids id --out A.thresher`,
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runBuild(cmd, f) },
	}
	cmd.Flags().StringVar(&f.atoms, "vectors", "", "`file` of vectors; - is standard input")
	cmd.Flags().StringVar(&f.column, vectorsColumnFlag, "", columnHelp("the vectors"))
	a.reading.add(cmd.Flags())
	cmd.Flags().StringVar(&f.ids, "ids", "", "`column` of the vectors' ids (default: the column id, if there is one)")
	cmd.Flags().StringVar(&f.out, "out", "", "`file` to write, ending in "+collectionSuffix)
	cmd.Flags().BoolVar(&f.force, "overwrite", false, "overwrite the output")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout")
	addSettings(cmd, "metric", "basis", "seed", "threads", "dense_limit", "read_limit")
	return cmd
}

func (a *app) runBuild(cmd *cobra.Command, f *buildFlags) error {
	if !strings.HasSuffix(f.out, collectionSuffix) {
		return fmt.Errorf("--out %q: the name of a collection ends in %s", f.out, collectionSuffix)
	}
	if err := cli.RefuseExisting(f.force, f.out, f.out+dataset.SavedIDsSuffix); err != nil {
		return err
	}
	in, err := a.openInput(cmd.Context(), "vectors", f.atoms)
	if err != nil {
		return err
	}
	defer in.remove()
	if in.isCollection() {
		return fmt.Errorf("--vectors %s: is already a collection", in.name)
	}
	o, err := a.buildOptions(batch.Auto)
	if err == nil {
		o.Metric, err = in.metric(a.Config.Metric)
	}
	if err != nil {
		return err
	}
	r, err := in.open(&dataset.Options{Column: f.column, IDs: f.ids, FindIDs: true, Centre: o.Metric.Differences()})
	if err != nil {
		return err
	}
	defer r.Close()
	a.warnDropped(in, r, true)
	columns := columnsOf(dataset.LayoutOf(r), nil)

	begun := time.Now()
	p := a.NewProgress("preparing vectors")
	defer p.Done()
	o.Progress, o.Coordinates = p.Set, dataset.LayoutOf(r).Coordinates()
	src := &idsKept{Reader: r, file: in.name}
	c, err := collection.Create(cmd.Context(), f.out, src, f.force, o)
	if err != nil {
		return fmt.Errorf("building %s from %s: %w", f.out, in.name, in.named(err))
	}
	p.Done()
	if err := c.Close(); err != nil {
		return fmt.Errorf("%s: %w", f.out, err)
	}
	if err := collection.SaveIDs(f.out, src.ids); err != nil {
		return fmt.Errorf("the ids of %s: %w", f.out, err)
	}
	took := time.Since(begun)

	info, err := collection.Stat(f.out)
	if err != nil {
		return err
	}
	if len(o.Coordinates) != len(info.Coordinates) {
		a.Log.Warn("the names of the columns are too long to be kept: queries will be compared with the collection by place, not by name", "columns", len(o.Coordinates))
	}
	if f.json {
		return json.NewEncoder(a.Out).Encode(struct {
			*collection.Info
			columnsRead
			BuildSeconds float64 `json:"build_seconds"`
		}{info, columns, took.Seconds()})
	}
	t := cli.NewTable(a.Err)
	t.Row("vectors", fmt.Sprintf("%d x %d, %s, basis %s", info.N, info.Dim, info.Metric, info.Basis))
	columns.print(t)
	describeRounding(t, info)
	t.Row("file", fmt.Sprintf("%s, %s", f.out, megabytes(info.FileBytes)))
	t.Row("time", seconds(took.Seconds()))
	return t.Flush()
}

// describeRounding adds to a table what rounding to float32 changed of the vectors of a collection.
func describeRounding(t *cli.Table, info *collection.Info) {
	if info.Rounded == nil {
		return
	}
	text := fmt.Sprintf("%d values to float32, largest change %.2g", info.Rounded.Values, info.Rounded.Largest)
	if info.Relative {
		text += ", relative to a point near the vectors"
	}
	t.Row("rounded", text)
}

// megabytes formats the length of a file; that of a short one in kilobytes.
func megabytes(n int64) string {
	if n < 1e5 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
