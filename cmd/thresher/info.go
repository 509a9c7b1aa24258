package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	"thresher/internal/cli"
)

// infoArgument stands for the argument of info where others have a flag.
const infoArgument = "file"

// vectorsInfo describes a file of vectors.
type vectorsInfo struct {
	Path   string         `json:"path"`
	Format dataset.Format `json:"format,omitempty"` // by the name; "" if only the content tells it
	// Rows is -1 if only reading the file can tell.
	Rows      int64 `json:"rows"`
	Dim       int   `json:"dim"`
	FileBytes int64 `json:"file_bytes"`
	// DType is the type of the elements, "text" for numbers in text.
	DType string `json:"dtype,omitempty"`
	// Files is how many files Path stands for, 0 for one.
	Files int `json:"files,omitempty"`
	columnsRead
	// IDs is the column of the ids, Dropped are those of other use.
	IDs     string   `json:"ids,omitempty"`
	Dropped []string `json:"dropped,omitempty"`
}

// answersInfo describes a file of answers.
type answersInfo struct {
	Path      string         `json:"path"`
	Format    dataset.Format `json:"format,omitempty"` // as in vectorsInfo
	Queries   int64          `json:"queries"`
	Shortest  int            `json:"shortest"` // fewest and most atoms of an answer
	Longest   int            `json:"longest"`
	IDs       string         `json:"ids"` // row numbers, texts, or both
	Scores    bool           `json:"scores"`
	FileBytes int64          `json:"file_bytes"`
}

func newInfoCommand(a *app) *cobra.Command {
	var asJSON, answers bool
	var column string
	cmd := &cobra.Command{
		Use:   "info FILE",
		Short: "Describe a collection, a file of vectors or, with --answers, of answers",
		Example: `  thresher info A.parquet
  thresher info A.thresher --json
  thresher info 'shards/part-*.parquet'
  thresher info --answers answers.npz`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("info: %d files named, wants one", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			open := a.openVectors
			if answers {
				open = a.openInput
			}
			in, err := open(cmd.Context(), infoArgument, args[0])
			if err != nil {
				return err
			}
			defer in.remove()
			if answers {
				return a.describeAnswers(cmd.Context(), in, asJSON)
			}
			if in.isCollection() {
				return a.describeCollection(in, asJSON)
			}
			if in.folder != nil {
				return a.describeFolder(in, asJSON)
			}
			return a.describeVectors(in, column, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object on stdout")
	cmd.Flags().BoolVar(&answers, "answers", false, "the file holds answers, in a form that verify reads; it is read to its end")
	cmd.Flags().StringVar(&column, vectorsColumnFlag, "", columnHelp("the vectors"))
	a.reading.add(cmd.Flags())
	addSettings(cmd, "dense_limit", "read_limit", "cache", "cache_limit")
	return cmd
}

func (a *app) describeCollection(in input, asJSON bool) error {
	info, err := collection.Stat(in.path)
	if err != nil {
		return err
	}
	if in.urls != nil {
		info.Path = in.name
	}
	fields, err := columns.SavedFields(in.path)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(a.Out).Encode(struct {
			*collection.Info
			Columns []columns.Field `json:"columns,omitempty"`
		}{info, fields})
	}
	t := cli.NewTable(a.Out)
	t.Row("file", info.Path)
	t.Row("version", info.Version)
	t.Row("vectors", info.N)
	t.Row("dimension", info.Dim)
	t.Row("type", fmt.Sprintf("%s, %s a coordinate", info.Elem, bytesSaid(info.Elem.Size())))
	if info.Coordinates != nil {
		t.Row("columns", "vectors from "+dataset.Ranges(info.Coordinates))
	}
	printFields(t, fields)
	t.Row("metric", info.Metric)
	describeRounding(t, info)
	t.Row("basis", info.Basis)
	t.Row("seed", info.Seed)
	t.Row("head", info.Head)
	t.Row("rotated", info.Rotated)
	t.Row("size", megabytes(info.FileBytes))
	for _, name := range slices.Sorted(maps.Keys(info.Sections)) {
		t.Row("  "+name, megabytes(info.Sections[name]))
	}
	return t.Flush()
}

func (a *app) describeFolder(in input, asJSON bool) error {
	info := in.folder.Info()
	if in.urls != nil {
		info.Path = in.name
	}
	if asJSON {
		return json.NewEncoder(a.Out).Encode(info)
	}
	size, err := folderSize(in.path)
	if err != nil {
		return err
	}
	t := cli.NewTable(a.Out)
	t.Row("folder", info.Path)
	t.Row("version", info.Version)
	t.Row("vectors", info.Vectors)
	t.Row("dimension", info.Dim)
	t.Row("type", fmt.Sprintf("%s, %s a coordinate", info.Elem, bytesSaid(info.Elem.Size())))
	printFields(t, info.Columns)
	t.Row("metric", info.Metric)
	ids := "numbers"
	if info.Texts {
		ids = "texts"
	}
	t.Row("ids", ids)
	for _, s := range info.Segments {
		t.Row("  "+s.File, fmt.Sprintf("%d vectors, %d deleted, %s", s.Rows, s.Deleted, megabytes(s.Bytes)))
	}
	t.Row("  log", fmt.Sprintf("%d vectors", info.Unsealed))
	t.Row("size", megabytes(size))
	return t.Flush()
}

func (a *app) describeVectors(in input, column string, asJSON bool) error {
	r, err := in.open(&dataset.Options{Column: column, FindIDs: true})
	if err != nil {
		return err
	}
	defer r.Close()
	size, err := in.size()
	if err != nil {
		return err
	}
	format := in.format()
	info := vectorsInfo{Path: in.name, Format: format, Rows: r.Len(), Dim: r.Dim(), FileBytes: size, Files: len(in.files), DType: dataset.TypeOf(r)}
	layout := dataset.LayoutOf(r)
	info.columnsRead, info.IDs, info.Dropped = columnsOf(layout, nil), layout.IDs, layout.Dropped
	if asJSON {
		return json.NewEncoder(a.Out).Encode(info)
	}
	t := cli.NewTable(a.Out)
	if info.Files == 0 {
		t.Row("file", info.Path)
	} else {
		t.Row("files", fmt.Sprintf("%d of %s", info.Files, info.Path))
	}
	if format != dataset.Unknown {
		t.Row("format", format)
	}
	if info.Rows >= 0 {
		t.Row("rows", info.Rows)
	} else {
		t.Row("rows", "known once read")
	}
	t.Row("dimension", info.Dim)
	if e, err := dataset.ParseElem(info.DType); err == nil {
		t.Row("type", fmt.Sprintf("%s, %s a coordinate", e, bytesSaid(e.Size())))
	} else if info.DType != "" {
		t.Row("type", info.DType)
	}
	info.print(t)
	if info.IDs != "" {
		t.Row("ids", info.IDs)
	}
	if len(info.Dropped) > 0 {
		t.Row("dropped", dataset.Ranges(info.Dropped))
	}
	t.Row("size", megabytes(info.FileBytes))
	return t.Flush()
}

// bytesSaid says how many bytes there are.
func bytesSaid(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

func (a *app) describeAnswers(ctx context.Context, in input, asJSON bool) error {
	info, err := newAnswersInfo(ctx, in)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(a.Out).Encode(info)
	}
	t := cli.NewTable(a.Out)
	t.Row("file", info.Path)
	if info.Format != dataset.Unknown {
		t.Row("format", info.Format)
	}
	t.Row("queries", info.Queries)
	if info.Queries > 0 {
		t.Row("vectors", fmt.Sprintf("%d to %d an answer, %s", info.Shortest, info.Longest, info.IDs))
	}
	scores := "none"
	if info.Scores {
		scores = "one a vector"
	}
	t.Row("scores", scores)
	t.Row("size", megabytes(info.FileBytes))
	return t.Flush()
}

// newAnswersInfo reads all answers of a file.
func newAnswersInfo(ctx context.Context, in input) (*answersInfo, error) {
	r, err := dataset.OpenResults(in.path, in.budget())
	if err != nil {
		return nil, in.named(err)
	}
	defer r.Close()
	file, err := os.Stat(in.path)
	if err != nil {
		return nil, err
	}
	format, _ := dataset.FormatOf(in.path)
	info := &answersInfo{Path: in.name, Format: format, IDs: "row numbers", FileBytes: file.Size()}
	for {
		v, err := r.Next()
		if err == io.EOF {
			return info, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, in.named(err)
		}
		atoms := max(len(v.Rows), len(v.IDs))
		if info.Queries == 0 {
			info.Shortest = atoms
		}
		info.Queries++
		info.Shortest, info.Longest = min(info.Shortest, atoms), max(info.Longest, atoms)
		info.Scores = info.Scores || v.Scores != nil
		switch {
		case atoms == 0:
		case v.Rows == nil:
			info.IDs = "texts"
		case v.IDs != nil:
			info.IDs = "row numbers and ids"
		}
	}
}
