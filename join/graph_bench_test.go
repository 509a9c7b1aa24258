//go:build unix

package join_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/vectors"
	"thresher/join"
)

var graphRows = flag.Int("graphrows", 10000, "rows of BenchmarkGraph's sets")

// digits returns n rows like MNIST's: its test images, and copies shifted by a pixel or two and
// with noise.
func digits(b *testing.B, n int) []float32 {
	const name = "../../shared/data/mnist-t10k/t10k-images-idx3-ubyte.gz"
	file, err := os.ReadFile(name)
	if err != nil {
		b.Skipf("needs MNIST's test images: %v", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		b.Fatal(err)
	}
	images, err := io.ReadAll(z)
	if err != nil {
		b.Fatal(err)
	}
	images = images[16:]
	r := vectors.Rand(3)
	rows := make([]float32, n*784)
	for i := range n {
		image := images[i%10000*784:][:784]
		dx, dy := i/10000%3-1, i/30000%3-1
		if i < 10000 {
			dx, dy = 0, 0
		}
		for y := range 28 {
			for x := range 28 {
				if x-dx < 0 || x-dx > 27 || y-dy < 0 || y-dy > 27 {
					continue
				}
				v := float32(image[(y-dy)*28+x-dx])
				if i >= 10000 {
					v = min(255, v*(.8+.4*r.Float32()))
				}
				rows[i*784+y*28+x] = v
			}
		}
	}
	return rows
}

// processorTime is the time that the processors have worked for this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkGraph makes graphs of 15 neighbours in turns with the search of each atom alone, and
// reports the time of a graph, and its processor time, as multiples of those of the search. The regret
// is the time of the way that a graph takes by itself as a multiple of the faster way's. Use -benchtime 3x, or
// 1x and -graphrows 60000 or more.
func BenchmarkGraph(b *testing.B) {
	for _, set := range []struct {
		name   string
		rows   func(n int) []float32
		dim    int
		metric collection.Metric
	}{
		{"digits784", func(n int) []float32 { return digits(b, n) }, 784, collection.Euclidean},
		{"embeddings768", func(n int) []float32 { return vectors.Embeddings(vectors.Rand(1), n, 768) }, 768, collection.Cosine},
		{"powerlaw768", func(n int) []float32 { return vectors.PowerLaw(vectors.Rand(1), n, 768) }, 768, collection.Cosine},
	} {
		b.Run(set.name, func(b *testing.B) {
			c, err := collection.Build(b.Context(), set.rows(*graphRows), set.dim, &collection.Options{Metric: set.metric, Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			e, err := batch.Open(b.Context(), c, cpu.New(cpu.Options{}), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			warm, err := join.NewGraph(e, join.GraphOptions{K: 15, Way: join.ByRow})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := warm.Search(b.Context(), 0, min(*graphRows, 2048)); err != nil {
				b.Fatal(err)
			}
			var took, worked [3]time.Duration
			for b.Loop() {
				for i, way := range []join.Way{join.ByRow, join.ByPair, join.ByCost} {
					began, before := time.Now(), processorTime()
					g, err := join.NewGraph(e, join.GraphOptions{K: 15, Way: way})
					if err != nil {
						b.Fatal(err)
					}
					if _, err := g.Each(b.Context(), nil, func(*dataset.Result) error { return nil }); err != nil {
						b.Fatal(err)
					}
					if err := g.Close(); err != nil {
						b.Fatal(err)
					}
					took[i] += time.Since(began)
					worked[i] += processorTime() - before
				}
			}
			b.ReportMetric(float64(took[0].Microseconds())/float64(b.N**graphRows), "us/row-alone")
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "graph/search")
			b.ReportMetric(took[2].Seconds()/min(took[0], took[1]).Seconds(), "regret")
			b.ReportMetric(worked[1].Seconds()/worked[0].Seconds(), "work/search")
		})
	}
}
