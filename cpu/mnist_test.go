package cpu

import (
	"compress/gzip"
	"io"
	"os"
	"testing"
)

// mnistRows returns 2,000 MNIST test images as rows of 784 grey values, or nil, which it
// logs, if the data is not present.
func mnistRows(t *testing.T) ([]float32, int) {
	const name = "../../shared/data/mnist-t10k/t10k-images-idx3-ubyte.gz"
	f, err := os.Open(name)
	if err != nil {
		t.Logf("without MNIST: %v", err)
		return nil, 0
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 16+2000*784)
	if _, err := io.ReadFull(z, b); err != nil {
		t.Fatal(err)
	}
	rows := make([]float32, 2000*784)
	for i, v := range b[16:] {
		rows[i] = float32(v)
	}
	return rows, 784
}
