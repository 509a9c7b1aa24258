package main

import (
	"context"
	"fmt"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/machine"
	"thresher/join"
	"thresher/tasks"
)

// load reads the right vectors, sorts them by key, and opens the engine over them.
func (j *joining) load(ctx context.Context) error {
	begun := time.Now()
	r, err := j.right.in.open(&dataset.Options{Column: j.right.on, FindIDs: true, Centre: j.metric.Differences()})
	if err != nil {
		return err
	}
	defer r.Close()
	if err := j.fitsMemory(r.Len(), 0, r.Dim()); err != nil {
		return err
	}
	rows, _, err := dataset.DrainVectorsWithin(ctx, r, dataset.ElemFloat32, cli.RoomFor(j.right.in.name))
	if err != nil {
		return j.right.in.named(err)
	}
	if err := j.fitsMemory(int64(rows.Len()), int64(len(rows.Bytes())), r.Dim()); err != nil {
		return err
	}
	for _, side := range []struct {
		of *joinSide
		n  int64
	}{{&j.right, int64(rows.Len())}, {&j.left, j.rows.Len()}} {
		if have := side.of.columns.Rows(); side.n >= 0 && int64(have) != side.n {
			return fmt.Errorf("the columns of %s have %d rows, and there are %d vectors", side.of.in.name, have, side.n)
		}
	}
	loaded := time.Now()
	var order []int64
	var starts []int
	if j.right.groups != nil {
		order, starts = join.SortRows(rows, j.right.groups)
	}
	if err := j.openRight(ctx, rows, r, order, starts); err != nil {
		return join.InTable(err, order)
	}
	j.rows = dataset.RelativeTo(j.rows, dataset.OriginOf(r))
	j.summary = joinSummary{
		RightRows: rows.Len(), Dimension: r.Dim(), LoadSeconds: loaded.Sub(begun).Seconds(), BuildSeconds: time.Since(loaded).Seconds(),
		columnsRead: columnsOf(j.right.layout, j.rows), By: j.flags.keys(), How: j.flags.how, Threads: j.threads,
	}
	j.Log.Info("right table ready", "rows", rows.Len(), "dimension", r.Dim(), "groups", j.run.Right.Groups())
	return nil
}

// fitsMemory refuses a right table of n rows, if their number is known, that takes more memory than is free. They have so many bytes of it.
func (j *joining) fitsMemory(n, have int64, dim int) error {
	if n < 1 || n > collection.MaxAtoms {
		return nil // reading says what is wrong
	}
	return cli.NeedMemory(fmt.Sprintf("the right table's %d x %d", n, dim), float64(collection.Size(n, dim, &collection.Options{Metric: j.metric, NoCodes: true})-have))
}

// loadNothing takes the place of load where a table has no rows, so that there is nothing to join.
func (j *joining) loadNothing() {
	j.run = tasks.JoinRun{Request: j.request}
	j.summary = joinSummary{
		RightRows: j.right.columns.Rows(), columnsRead: columnsRead{VectorColumns: j.right.layout.String(), QueryColumns: j.left.layout.String()},
		By: j.flags.keys(), How: j.flags.how, Dimension: max(j.left.dim, j.right.dim),
	}
}

// openRight opens the engine over the right table, whose rows r has read.
func (j *joining) openRight(ctx context.Context, rows dataset.Vectors, r dataset.Reader, order []int64, starts []int) error {
	o, err := j.buildOptions(j.request.Method)
	if err != nil {
		return err
	}
	processor, err := j.openCPU()
	if err != nil {
		return err
	}
	j.close = append(j.close, processor.Close)
	o.Metric, o.Origin, o.Change = j.metric, dataset.OriginOf(r), dataset.ChangeOf(r)
	costs := costsOf(processor, nil)
	j.threads = processor.Describe().Threads
	options := join.RightOptions{Groups: j.right.groups, Request: j.request, Build: *o, Threads: j.threads}
	options.Builds = func(n int, queries int64) bool {
		return j.request.BuildingPays(n, rows.Dim(), j.metric, queries, costs)
	}
	if j.left.groups != nil {
		options.Left = join.CountGroups(j.left.groups)
	}
	p := j.NewProgress("preparing vectors")
	defer p.Done()
	whole := *o
	whole.Progress = p.Set
	if starts != nil || !options.Builds(rows.Len(), int64(j.left.columns.Rows())) {
		withoutCodes(&whole)
	}
	c, err := collection.BuildVectors(ctx, rows, &whole)
	if err != nil {
		return fmt.Errorf("%s: %w", j.right.in.name, err)
	}
	j.close = append(j.close, c.Close)
	e, err := batch.Open(ctx, c, processor, &batch.Options{Spare: machine.SpareFor})
	if err != nil {
		return err
	}
	j.close = append(j.close, e.Close)
	right, err := join.NewRight(e, order, starts, options)
	if err != nil {
		return j.located(err)
	}
	j.close = append(j.close, right.Close)
	j.run = tasks.JoinRun{Right: right, Request: j.request}
	return nil
}
