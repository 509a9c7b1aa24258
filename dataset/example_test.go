package dataset_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"

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
