package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/segments/folder"
)

type buildFlags struct {
	atoms, column, ids, out string
	columns                 keptColumns
	force, json             bool
	dtype                   folderDtype
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
are kept beside it, in FILE.thresher.ids.npz, and the columns of --columns, by which
--filter selects, in FILE.thresher.columns; every command reads them.

A name that ends in / makes a folder of vectors that change, for rows put and rows
delete, which every command takes as --vectors. It keeps the type of the vectors, or that
of --dtype, and the columns of --columns.`,
		Example: `  thresher build --vectors A.parquet --metric cosine --ids id --out A.thresher
  thresher build --vectors 'shards/part-*.parquet' --metric cosine --out A.thresher
  thresher build --vectors items.parquet --metric ip --columns year,lang --out items.thresher
  thresher build --vectors A.parquet --metric cosine --ids id --out A/`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runBuild(cmd, f) },
	}
	cmd.Flags().StringVar(&f.atoms, "vectors", "", "`file` of vectors"+setHelp+"; - is standard input")
	cmd.Flags().StringVar(&f.column, vectorsColumnFlag, "", columnHelp("the vectors"))
	a.reading.add(cmd.Flags())
	cmd.Flags().StringVar(&f.ids, "ids", "", "`column` of the vectors' ids (default: the column id, if there is one)")
	f.columns.add(cmd.Flags())
	cmd.Flags().StringVar(&f.out, "out", "", "`file` to write, ending in "+collectionSuffix+", or a folder, ending in /")
	cmd.Flags().BoolVar(&f.force, "overwrite", false, "overwrite the output")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout")
	f.dtype.add(cmd.Flags())
	addSettings(cmd, "metric", "basis", "seed", "threads", "dense_limit", "read_limit", "cache", "cache_limit")
	return cmd
}

func (a *app) runBuild(cmd *cobra.Command, f *buildFlags) error {
	if !strings.HasSuffix(f.out, collectionSuffix) && !isFolder(f.out) {
		return fmt.Errorf("--out %q: the name of a collection ends in %s, or in / for a folder of vectors that change", f.out, collectionSuffix)
	}
	if isFolder(f.out) && folder.Is(f.out) {
		return fmt.Errorf("--out %s: is there already; rows put writes to it", f.out)
	}
	if err := cli.RefuseExisting(f.force, f.out, f.out+dataset.SavedIDsSuffix, f.out+columns.SavedSuffix); err != nil {
		return err
	}
	in, err := a.openVectors(cmd.Context(), "vectors", f.atoms)
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
	opt := &dataset.Options{Column: f.column, IDs: f.ids, FindIDs: true}
	if isFolder(f.out) {
		if o.Basis != collection.Rotated {
			return fmt.Errorf("--basis %s: the segments of a folder have basis auto", o.Basis)
		}
		return a.buildFolder(cmd.Context(), in, f, folder.Form{Metric: o.Metric, Seed: o.Seed}, opt)
	}
	if err := f.dtype.checkFile(); err != nil {
		return err
	}
	o.Elem = in.kept(f.dtype.Elem)
	in.except = f.columns.named()
	opt.Centre = o.Metric.Differences()
	r, err := in.open(opt)
	if err != nil {
		return err
	}
	defer r.Close()
	if in.except, err = f.columns.read(cmd.Context(), a, in, f.column, dataset.LayoutOf(r)); err != nil {
		return err
	}
	a.warnDropped(in, r)
	read := columnsOf(dataset.LayoutOf(r), nil)

	begun := time.Now()
	p := a.NewProgress("preparing vectors")
	defer p.Done()
	o.Progress, o.Coordinates = p.Set, dataset.LayoutOf(r).Coordinates()
	if err := a.boundBuild(in, r, o); err != nil {
		return err
	}
	src := &idsKept{Reader: r, in: in}
	c, err := collection.Create(cmd.Context(), f.out, src.source(o.Elem), f.force, o)
	if err != nil {
		return fmt.Errorf("building %s from %s: %w", f.out, in.name, in.named(err))
	}
	p.Done()
	if err := c.Close(); err != nil {
		return fmt.Errorf("%s: %w", f.out, err)
	}
	if err := collection.SaveIDs(f.out, src.kept()); err != nil {
		return fmt.Errorf("the ids of %s: %w", f.out, err)
	}
	if err := f.columns.save(f.out, c.N); err != nil {
		return err
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
			Columns      []columns.Field `json:"columns,omitempty"`
			BuildSeconds float64         `json:"build_seconds"`
		}{info, read, f.columns.fields(), took.Seconds()})
	}
	t := cli.NewTable(a.Err)
	t.Row("vectors", fmt.Sprintf("%d x %d, %s, basis %s", info.N, info.Dim, typedMetric(info), info.Basis))
	read.print(t)
	printFields(t, f.columns.fields())
	describeRounding(t, info)
	t.Row("file", fmt.Sprintf("%s, %s", f.out, megabytes(info.FileBytes)))
	t.Row("time", seconds(took.Seconds()))
	return t.Flush()
}

// boundBuild has a build take no more memory than is free, and says so if the file is larger. What one needs of its
// own is refused beforehand if it is more, where the number of rows is known; else once they are read.
func (a *app) boundBuild(in input, r dataset.Reader, o *collection.Options) error {
	o.Memory, o.HoldCodes = cli.SpareMemory(), true
	if n := r.Len(); n >= 0 && o.Memory > 0 {
		own, size := *o, collection.Size(n, r.Dim(), o)
		if t, ok := dataset.KeptAs(r, o.Elem); ok {
			own.Elem = t.Elem()
			size = collection.Size(n, r.Dim(), &own)
		}
		need := collection.BuildMemory(n, r.Dim(), &own)
		if err := cli.NeedMemory(fmt.Sprintf("building %d x %d of %s", n, r.Dim(), in.name), float64(need)); err != nil {
			return err
		}
		if size > o.Memory {
			a.Log.Info("the collection is larger than the memory, so it is built a part at a time", "file", megabytes(size), "memory", megabytes(o.Memory), "needed", megabytes(need))
		}
	}
	return nil
}

// typedMetric is the metric of a collection, after the type of its vectors if that is not float32.
func typedMetric(info *collection.Info) string {
	return ofType(dtypeOf(info.Elem), info.Metric)
}

// dtypeOf names the type in which vectors are kept; "" is float32.
func dtypeOf(e dataset.Elem) string {
	if e == dataset.ElemFloat32 {
		return ""
	}
	return e.String()
}

// ofType is a metric after the type of the vectors, unless that is "".
func ofType(dtype, metric string) string {
	if dtype == "" {
		return metric
	}
	return dtype + ", " + metric
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
