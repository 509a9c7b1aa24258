package dataset

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestIDX: arrays in the form of MNIST are rows of all dimensions but the first, by any name, compressed or not.
func TestIDX(t *testing.T) {
	images := []byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 255, 5, 6, 7, 8}
	floats := []byte{0, 0, 0x0d, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(images)
	z.Close()
	of := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		content []byte
		dim     int
		want    []float32
	}{
		"train-images-idx3-ubyte":    {images, 4, []float32{1, 2, 3, 255, 5, 6, 7, 8}},
		"train-images.idx3-ubyte":    {images, 4, []float32{1, 2, 3, 255, 5, 6, 7, 8}},
		"train-images-idx3-ubyte.gz": {zipped.Bytes(), 4, []float32{1, 2, 3, 255, 5, 6, 7, 8}},
		"thresher-1234":              {zipped.Bytes(), 4, []float32{1, 2, 3, 255, 5, 6, 7, 8}},
		"a.idx":                      {floats, 2, []float32{1.5, -2}},
	} {
		m, err := ReadAll(t.Context(), of(name, c.content), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := cmp.Diff(c.want, m.Data); d != "" || m.Dim != c.dim {
			t.Errorf("%s: %d columns (-want +got):\n%s", name, m.Dim, d)
		}
	}
	for want, content := range map[string][]byte{
		"an array of 1 dimensions, such as MNIST's labels": {0, 0, 8, 1, 0, 0, 0, 2, 1, 2},
		"is none of IDX":        {0, 0, 7, 2, 0, 0, 0, 1, 0, 0, 0, 1, 1},
		"the matrix is empty":   {0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 1, 1},
		"header: data is trunc": {0, 0, 8, 4, 0, 0, 0, 1},
		"do not fit an address": {0, 0, 8, 4, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
	} {
		path := of("a.idx", content)
		_, err := ReadAll(t.Context(), path, nil)
		checkError(t, nil, err, path, -1, -1, want)
	}
}

// TestIDXCutShort: what is missing is named.
func TestIDXCutShort(t *testing.T) {
	path := writeTemp(t, "a.idx", "\x00\x00\x08\x02\x00\x00\x00\x02\x00\x00\x00\x02\x01\x02\x03")
	_, err := ReadAll(t.Context(), path, nil)
	checkError(t, nil, err, path, 1, 1, "the header announces 2 rows of 2 columns, 4 bytes, but 3 are there")
}

// TestUnnamed: a text of fields is CSV where neither name nor signature says what it is; HDF5 is refused with the way out.
func TestUnnamed(t *testing.T) {
	for name, text := range map[string]string{"thresher-1": "d0,d1\n1,2\n3,4\n", "b": "1.5\t2\n", "c": "d0;d1\r\n1;2\r\n"} {
		m, err := ReadAll(t.Context(), writeTemp(t, name, text), nil)
		if err != nil || m.Dim != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct{ text, want string }{
		"a":       {"one text\nwithout fields\n", "unknown format"},
		"b":       {"a,b\nc\n", "unknown format"},
		"c":       {"a,\x00b\n", "unknown format"},
		"d.hdf5":  {hdf5Signature + "\x00\x00", "is HDF5, which is not read; write the arrays"},
		"e.npy":   {hdf5Signature + "\x00\x00", "is HDF5"},
		"f.trec2": {"0 Q0 1 2 1.0 run\n", "unknown format"},
	} {
		path := writeTemp(t, name, c.text)
		_, err := ReadAll(t.Context(), path, nil)
		checkError(t, nil, err, path, -1, -1, c.want)
	}
}
