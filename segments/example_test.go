package segments_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/segments"
)

// A set is written to and searched by id; an upkeep makes one segment of several, aside.
func Example() {
	ctx := context.Background()
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	set, err := segments.Open(2, segments.Options{Collection: collection.Options{Metric: collection.InnerProduct}, Backend: b})
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	if _, err := set.Upsert([]int64{7, 3, 9}, []float32{1, 0, 0, 2, 3, 3}); err != nil {
		log.Fatal(err)
	}
	replaced, err := set.Upsert([]int64{3}, []float32{5, 0})
	if err != nil {
		log.Fatal(err)
	}
	deleted, err := set.Delete([]int64{9, 100})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("replaced", replaced, "deleted", deleted)

	var wrong *segments.IDError
	if err := set.CheckUpsert([]int64{-1}, []float32{1, 1}); errors.As(err, &wrong) {
		fmt.Println(err, wrong.Unwrap() != nil)
	}

	now := set.Snapshot()
	found, err := now.Search(ctx, batch.Request{Queries: []float32{1, 1}, K: 2, Method: batch.Exact})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Answers[0].IDs, now.Len(), now.Dim(), now.Metric(), now.Has(9), now.Vector(3))
	for _, h := range now.Holdings() {
		fmt.Println("held", h.Segment.Len(), h.Segment.Generation(), h.Segment.Collection().N, h.Segment.ID(0))
	}
	if err := now.Release(); err != nil {
		log.Fatal(err)
	}

	if u := set.Begin(); u != nil { // what is due
		u.Abandon()
	}
	all, err := set.BeginAll()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("one of", len(all.Segments()), "with", all.Len(), "rows of", all.Dim(), "generation", all.Generation(), all.IDs())
	made, err := all.Build(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if row, ok := made.Row(7); ok {
		fmt.Println("7 is in row", row)
	}
	if err := all.Install(made); err != nil {
		log.Fatal(err)
	}
	if err := set.Maintain(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Counts())
	// Output:
	// replaced 1 deleted 1
	// row 0: id -1: ids are 0 or greater true
	// [3 7] 2 2 ip false [5 0]
	// one of 1 with 2 rows of 2 generation 1 [3 7]
	// 7 is in row 1
	// {4 1 2}
}

// A table gives texts the ids of a set; they keep them.
func ExampleTable() {
	table := segments.NewTable()
	write := dataset.IDsOf([]string{"pear", "fig"})
	if err := table.Check("ids", write); err != nil {
		log.Fatal(err)
	}
	numbers, err := table.Assign(write)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(numbers, table.Textual(), table.Find(dataset.IDsOf([]string{"fig", "plum"})), table.IDs([]int64{1}).Text(0))

	again := segments.NewTable() // of a folder that is opened
	if err := again.Restore(numbers, write); err != nil {
		log.Fatal(err)
	}
	numbers, err = again.Assign(dataset.IDsOf([]string{"plum", "fig"}))
	fmt.Println(numbers, err)

	rows := segments.TableOf(nil) // of a collection with row numbers for ids
	err = rows.Check("ids", dataset.IDsOf([]string{"plum"}))
	fmt.Println(err)
	// Output:
	// [0 1] true [1 -1] fig
	// [2 1] <nil>
	// ids: row 0 (0-based): id "plum" is a text, and the other vectors' ids are numbers
}
