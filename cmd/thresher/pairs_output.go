package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"thresher/dataset"
	"thresher/internal/atomicfile"
	"thresher/internal/cli"
	"thresher/join"
	"thresher/tasks"
)

// pairFiles are the output files of pairs. Pairs are kept in a log next to the output until all
// are found, because the output has them in order.
type pairFiles struct {
	out, components             string // components is "" without
	outFormat, componentsFormat dataset.Format
}

// newPairFiles checks the outputs before anything is read.
func newPairFiles(f *pairsFlags) (*pairFiles, error) {
	o := &pairFiles{out: f.out, components: f.components}
	var err error
	if o.outFormat, err = tableFormat("out", f.out, dataset.RowsWritten); err != nil {
		return nil, err
	}
	if f.components != "" {
		if o.componentsFormat, err = tableFormat("components", f.components, dataset.LabelsWritten); err != nil {
			return nil, err
		}
	}
	if err := cli.RefuseFolders(append(o.results(), o.log())...); err != nil {
		return nil, err
	}
	return o, refuseFormer(o.progress(), f.resume, f.force, append(o.results(), o.log())...)
}

// refuseFormer refuses what a former run left, unless the run goes on with it or overwrites it.
func refuseFormer(progress string, resume, force bool, paths ...string) error {
	if force {
		return nil
	}
	_, err := os.Lstat(progress)
	begun := err == nil
	if begun && !resume {
		return fmt.Errorf("%s: an earlier run left its progress: %w; --resume continues it, --overwrite starts over", progress, fs.ErrExist)
	}
	if begun {
		return nil
	}
	for _, path := range paths {
		if err := cli.RefuseExisting(false, path); err != nil && resume {
			return fmt.Errorf("%w; there is nothing to resume without %s", err, progress)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// tableFormat returns the format of an output by its name, which must be one for this use, in a folder
// that exists.
func tableFormat(flag, path string, use dataset.Use) (dataset.Format, error) {
	format, zipped := dataset.FormatOf(path)
	switch {
	case zipped:
		return "", fmt.Errorf("--%s %s: compressed output is not supported; drop .gz", flag, path)
	case !isFor(format, use):
		return "", noneOf(flag, path, use)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return "", fmt.Errorf("--%s %s: there is no folder %s", flag, path, filepath.Dir(path))
	}
	return format, nil
}

// progress returns the path of the durable progress.
func (o *pairFiles) progress() string { return o.out + ".progress" }

// results returns the files that are left at the end.
func (o *pairFiles) results() []string {
	if o.components == "" {
		return []string{o.out}
	}
	return []string{o.out, o.components}
}

// log returns the path of the pair log.
func (o *pairFiles) log() string { return o.out + ".spool" }

// write merges the log into the output files. Both are complete when it returns.
func (o *pairFiles) write(ctx context.Context, t *dataset.PairTable, sides bool) (*tasks.PairShape, error) {
	file, err := os.Open(o.log())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	log, err := join.OpenPairLog(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.log(), err)
	}
	with := int64(0)
	if sides {
		with = t.RowsB
	}
	shape, err := tasks.NewPairShape(t.RowsA, with, o.components != "")
	if err != nil {
		return nil, err
	}
	merged := false // the shape has all pairs
	each := func(do func(p *dataset.Pair) error) error {
		n := 0
		err := log.Each(func(p *dataset.Pair) error {
			if n++; n%(1<<16) == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if !merged {
				shape.Add(p)
			}
			return do(p)
		})
		merged = true
		return err
	}
	err = o.create(o.out, func(out io.Writer) error { return dataset.WritePairs(out, o.outFormat, each, t) })
	if err != nil || o.components == "" {
		return shape, err
	}
	members := dataset.ComponentTable{Rows: t.RowsA + with, Sides: sides, Named: t.NamesA != nil || t.NamesB != nil}
	return shape, o.create(o.components, func(out io.Writer) error {
		return dataset.WriteComponents(out, o.componentsFormat, shape.Members(ctx, t.NamesA, t.NamesB), &members)
	})
}

// create writes an output atomically.
func (o *pairFiles) create(path string, write func(out io.Writer) error) (err error) {
	out, err := atomicfile.Create(path, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer out.Discard()
	if err := write(out); err != nil {
		return fmt.Errorf("%s: %w; no pairs are lost, and --resume writes the file", path, err)
	}
	return out.Commit(true) // a crashed run may already have written it
}
