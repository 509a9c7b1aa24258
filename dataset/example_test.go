package dataset_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"thresher/dataset"
)

// Rows written in any of the formats are read back alike.
func Example() {
	writers := []struct {
		format dataset.Format
		write  func(w io.Writer, rows, dim int, data []float32) error
	}{
		{dataset.NPY, dataset.WriteNPY},
		{dataset.FVecs, dataset.WriteFVecs},
		{dataset.FBin, dataset.WriteFBin},
	}
	for _, w := range writers {
		var file bytes.Buffer
		if err := w.write(&file, 2, 3, []float32{1, 2, 3, 4, 5, 6.5}); err != nil {
			log.Fatal(err)
		}
		size := file.Len()
		r, err := dataset.NewReader(&file, w.format, "rows", nil)
		if err != nil {
			log.Fatal(err)
		}
		m, err := dataset.Drain(context.Background(), r)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(w.format, size, "bytes:", m.Data)
	}
	// Output:
	// npy 152 bytes: [1 2 3 4 5 6.5]
	// fvecs 32 bytes: [1 2 3 4 5 6.5]
	// fbin 32 bytes: [1 2 3 4 5 6.5]
}

// A type of elements is its name in JSON and text, both ways.
func ExampleElem() {
	var file struct {
		DType dataset.Elem `json:"dtype"`
	}
	if err := json.Unmarshal([]byte(`{"dtype":"bfloat16"}`), &file); err != nil {
		log.Fatal(err)
	}
	text, err := json.Marshal(file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(file.DType == dataset.ElemBFloat16, string(text))
	// Output: true {"dtype":"bfloat16"}
}

// ExampleOpenLists reads lists of ids of different lengths.
func ExampleOpenLists() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "seen.jsonl")
	if err := os.WriteFile(path, []byte("[3,1]\n[]\n[2]\n"), 0o600); err != nil {
		panic(err)
	}
	r, err := dataset.OpenLists(path, nil)
	if err != nil {
		panic(err)
	}
	defer r.Close()
	for {
		ids, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(err)
		}
		fmt.Println(ids.IDs)
	}
	// Output:
	// [3 1]
	// []
	// [2]
}

// ExampleOpenNumbers reads the limits that a file states for its queries.
func ExampleOpenNumbers() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "queries.jsonl")
	if err := os.WriteFile(path, []byte(`{"vector":[1,2],"k":5}`+"\n"+`{"vector":[3,4],"k":null}`+"\n"), 0o600); err != nil {
		panic(err)
	}
	r, err := dataset.OpenNumbers(path, nil, "k")
	if err != nil {
		panic(err)
	}
	defer r.Close()
	for {
		row, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(err)
		}
		fmt.Println(row)
	}
	// Output:
	// [5]
	// [NaN]
}
