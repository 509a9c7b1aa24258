package folder_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/segments/folder"
)

// Vectors are written, searched, and there when the folder is opened again.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path, ctx := filepath.Join(dir, "fruit"), context.Background()
	if err := folder.Create(path, folder.Form{Metric: collection.Cosine, Dim: 3}); err != nil {
		log.Fatal(err)
	}
	processor := cpu.New(cpu.Options{})
	defer processor.Close()
	f, err := folder.Open(ctx, path, folder.Options{Backend: processor})
	if err != nil {
		log.Fatal(err)
	}
	done, err := f.Upsert(ctx, dataset.IDsOf([]string{"apple", "fig", "pear"}), []float32{4, 1, 0, 0, 1, 5, 4, 2, 0})
	fmt.Println(done.Rows, done.Version, err)
	done, err = f.Delete(ctx, dataset.IDsOf([]string{"pear"}))
	fmt.Println(done.Deleted, done.Version, err)
	if err := errors.Join(f.UpkeepError(), f.Close()); err != nil {
		log.Fatal(err)
	}

	f, err = folder.Open(ctx, path, folder.Options{Backend: processor, ReadOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	now := f.Snapshot()
	defer now.Release()
	resp, err := now.Search(ctx, batch.Request{Queries: []float32{1, 0, 0}, K: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(now.Len(), now.IDs(resp.Answers[0].IDs).Text(0), now.Numbers(dataset.IDsOf([]string{"fig"})), f.Recovered().Writes)
	// Output:
	// 3 1 <nil>
	// 1 2 <nil>
	// 2 apple [1] 2
}

// Vectors have columns, by which a search chooses among them. Those of int8 take a byte a coordinate.
func ExampleSnapshot_Select() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path, ctx := filepath.Join(dir, "films"), context.Background()
	form := folder.Form{Metric: collection.InnerProduct, Dim: 2, Elem: dataset.ElemInt8, Columns: []columns.Field{{Name: "year", Type: columns.Integer}, {Name: "lang", Type: columns.Text}}}
	if err := folder.Create(path, form); err != nil {
		log.Fatal(err)
	}
	processor := cpu.New(cpu.Options{})
	defer processor.Close()
	f, err := folder.Open(ctx, path, folder.Options{Backend: processor})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	described, err := columns.New(columns.Of("year", []int{1979, 1985, 1927}))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := f.Apply(ctx, folder.Change{IDs: dataset.IDsOf([]uint64{11, 12, 13}), Rows: []float32{1, 4, 2, 3, 3, 1}, Columns: described}); err != nil {
		log.Fatal(err)
	}
	now := f.Snapshot()
	defer now.Release()
	expr, err := columns.Parse("year < 1980 and lang is null")
	if err != nil {
		log.Fatal(err)
	}
	old, err := now.Select(expr)
	if err != nil {
		log.Fatal(err)
	}
	resp, err := old.Search(ctx, batch.Request{Queries: []float32{1, 1}, K: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(old.Len(), now.IDs(old.IDs()).Number(0), resp.Answers[0].IDs, resp.Answers[0].Scores)
	// Output: 2 11 [11 13] [5 4]
}
