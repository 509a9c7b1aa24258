package join

import (
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"thresher/collection"
	"thresher/internal/race"
)

// TestPairsOfImages compares the pairs of test images of MNIST with all pairs in float64.
func TestPairsOfImages(t *testing.T) {
	const dim = 784
	n := 1500
	if testing.Short() {
		n = 500
	}
	f, err := os.Open(filepath.Join("..", "..", "shared", "data", "mnist-t10k", "t10k-images-idx3-ubyte.gz"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs mnist-t10k in ../shared/data beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	pixels := make([]byte, 16+n*dim)
	if _, err := io.ReadFull(z, pixels); err != nil {
		t.Fatal(err)
	}
	rows := make([]float32, n*dim)
	for i, v := range pixels[16:] {
		rows[i] = float32(v)
	}
	for _, x := range []struct {
		metric collection.Metric
		least  float64
	}{{collection.Euclidean, 2.5e6}, {collection.Cosine, .9}, {collection.InnerProduct, 8e6}} {
		if race.Enabled && x.metric != collection.Euclidean {
			continue // goroutines divide the rows alike in all of them
		}
		t.Run(x.metric.String(), func(t *testing.T) {
			e := engine(t, rows, dim, x.metric)
			o := PairOptions{MinScore: x.least}
			d, err := Sample(t.Context(), e, o)
			if err != nil {
				t.Fatal(err)
			}
			s, err := SelfPairs(e, o, d)
			if err != nil {
				t.Fatal(err)
			}
			pairs, work, _ := all(t, s)
			want, doubtful := oracle(x.metric, rows, nil, dim, x.least)
			if err := compare(pairs, want, doubtful); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d pairs of %d images, %d rows exact; a dense scan reads %.1f times as much", len(pairs), work.Rows, work.Exact, float64(work.DensePulls)/float64(work.Pulls))
			if len(pairs) < 100*n*n/(1500*1500) || work.Exact != int64(n) {
				t.Errorf("%d pairs, %d rows exact", len(pairs), work.Exact)
			}
		})
	}
}
