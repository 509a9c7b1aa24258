package folder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	"thresher/internal/atomicfile"
	"thresher/internal/draws"
	"thresher/internal/vectors"
)

// counted is a disk that counts the bytes written.
type counted struct {
	files
	logs, segments, others *atomic.Int64
}

type countedLog struct {
	logWriter
	n *atomic.Int64
}

func (d counted) openLog(path string) (logWriter, error) {
	l, err := d.files.openLog(path)
	return countedLog{l, d.logs}, err
}

func (l countedLog) WriteAt(p []byte, at int64) (int, error) {
	l.n.Add(int64(len(p)))
	return l.logWriter.WriteAt(p, at)
}

func (d counted) commit(f *atomicfile.File) error {
	if info, err := f.Stat(); err == nil {
		d.others.Add(info.Size())
	}
	return d.files.commit(f)
}

func (d counted) build(ctx context.Context, path string, src collection.Source, o *collection.Options) (*collection.Collection, error) {
	c, err := d.files.build(ctx, path, src, o)
	if info, stat := os.Stat(path); stat == nil {
		d.segments.Add(info.Size())
	}
	return c, err
}

const (
	benchRows = 100_000
	benchDim  = 256
)

// benchFolder returns a folder of 100,000 x 256 vectors, opened, and rows to write.
func benchFolder(b *testing.B, d disk) (*Folder, []float32) { return benchFolderOf(b, d, nil) }

// benchFolderOf is benchFolder of vectors with columns, which benchColumns gives values.
func benchFolderOf(b *testing.B, d disk, fields []columns.Field) (*Folder, []float32) {
	b.Helper()
	rows := vectors.Gaussian(draws.Rand(1), benchRows, benchDim)
	path, ctx := filepath.Join(b.TempDir(), "vectors"), context.Background()
	if err := Create(path, Form{Metric: collection.Cosine, Dim: benchDim, Columns: fields}); err != nil {
		b.Fatal(err)
	}
	f, err := open(ctx, path, Options{Backend: newBackend(b), ByHand: true}, d)
	if err != nil {
		b.Fatal(err)
	}
	ids := make([]uint64, 20_000)
	for at := 0; at < benchRows; at += len(ids) {
		for i := range ids {
			ids[i] = uint64(at + i)
		}
		if _, err := f.Apply(ctx, Change{IDs: dataset.IDsOf(ids), Rows: rows[at*benchDim : (at+len(ids))*benchDim], Columns: benchColumns(b, fields, ids)}); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Maintain(ctx); err != nil {
		b.Fatal(err)
	}
	f.o.ByHand = false
	f.begin()
	b.Cleanup(func() { closed(b, f) })
	return f, rows
}

// benchFields are columns of three types.
var benchFields = []columns.Field{{Name: "year", Type: columns.Integer}, {Name: "lang", Type: columns.Text}, {Name: "tags", Type: columns.TextList}}

// benchColumns returns values of benchFields for the vectors of ids; nil for no fields.
func benchColumns(b *testing.B, fields []columns.Field, ids []uint64) *columns.Columns {
	if fields == nil {
		return nil
	}
	years, langs, tags := make([]int, len(ids)), make([]string, len(ids)), make([][]string, len(ids))
	for i, id := range ids {
		years[i], langs[i], tags[i] = 1950+int(id%100), []string{"go", "rust", "c", "java"}[id/7%4], []string{"a", "b"}[:id/3%3]
	}
	c, err := columns.New(columns.Of("year", years), columns.Of("lang", langs), columns.Of("tags", tags))
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkColumns writes 1 and 1,000 rows at a time to 100,000 of 256 dimensions without and with three columns, in turns: what
// the write with columns takes of the other. Then it selects 1 and 50% of the vectors by them, and searches these and all: ms to
// select, and what a search of the selected takes of one of all.
//
//	go test ./segments/folder -run '^$' -bench Columns -benchtime 200x
func BenchmarkColumns(b *testing.B) {
	plain, rows := benchFolder(b, files{})
	with, _ := benchFolderOf(b, files{}, benchFields)
	ctx := context.Background()
	for _, size := range []int{1, 1000} {
		b.Run(fmt.Sprint("write ", size), func(b *testing.B) {
			ids := make([]uint64, size)
			var took [2][]time.Duration
			for i := range b.N {
				for j := range ids {
					ids[j] = uint64((i*size + j) * 7919 % (benchRows + benchRows/10))
				}
				from := i * size % (benchRows - size)
				for which, f := range []*Folder{plain, with} {
					c := Change{IDs: dataset.IDsOf(ids), Rows: rows[from*benchDim : (from+size)*benchDim], Columns: benchColumns(b, f.Form().Columns, ids)}
					began := time.Now()
					if _, err := f.Apply(ctx, c); err != nil {
						b.Fatal(err)
					}
					took[which] = append(took[which], time.Since(began))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(middle(took[1], .5), "ms-p50")
			b.ReportMetric(middle(took[1], .5)/middle(took[0], .5), "of-plain")
		})
	}
	for _, text := range []string{"year = 1999", "year >= 2000"} {
		b.Run("search "+text, func(b *testing.B) {
			expr, err := columns.Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			now := with.Snapshot()
			defer now.Release()
			var took [3][]time.Duration
			for i := range b.N {
				req := batch.Request{Queries: rows[i*benchDim : (i+1)*benchDim], K: 10}
				began := time.Now()
				found, err := now.Select(expr)
				if err != nil {
					b.Fatal(err)
				}
				took[0] = append(took[0], time.Since(began))
				for which, search := range []func(context.Context, batch.Request) (*batch.Response, error){now.Search, found.Search} {
					began := time.Now()
					if _, err := search(ctx, req); err != nil {
						b.Fatal(err)
					}
					took[1+which] = append(took[1+which], time.Since(began))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(middle(took[0], .5), "select-ms")
			b.ReportMetric(middle(took[2], .5)/middle(took[1], .5), "of-all")
		})
	}
}

// flushed times the writing and flushing of as many bytes as a frame of n rows has.
func flushed(b *testing.B, file *os.File, n int) time.Duration {
	began := time.Now()
	if _, err := file.Write(make([]byte, n*(4*benchDim+8)+64)); err != nil {
		b.Fatal(err)
	}
	if err := file.Sync(); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}

func middle(all []time.Duration, part float64) float64 {
	slices.Sort(all)
	return float64(all[int(part*float64(len(all)-1))].Microseconds()) / 1e3
}

// BenchmarkUpsert writes 1 and 1,000 rows at a time to 100,000 of 256 dimensions, while seals and merges go on beside it, and in turns the
// same bytes to a file that is flushed: ms until a write is durable, and of the file.
//
//	go test ./segments/folder -run '^$' -bench 'Upsert$' -benchtime 300x
func BenchmarkUpsert(b *testing.B) {
	f, rows := benchFolder(b, files{})
	ctx := context.Background()
	for _, size := range []int{1, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			plain, err := os.Create(filepath.Join(b.TempDir(), "plain"))
			if err != nil {
				b.Fatal(err)
			}
			defer plain.Close()
			var took, bare []time.Duration
			ids := make([]uint64, size)
			for i := range b.N {
				for j := range ids {
					ids[j] = uint64((i*size + j) * 7919 % (benchRows + benchRows/10))
				}
				from := i * size % (benchRows - size)
				began := time.Now()
				if _, err := f.Upsert(ctx, dataset.IDsOf(ids), rows[from*benchDim:(from+size)*benchDim]); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
				bare = append(bare, flushed(b, plain, size))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(middle(took, .5), "ms-p50")
			b.ReportMetric(middle(took, .99), "ms-p99")
			b.ReportMetric(middle(bare, .5), "file-ms-p50")
			b.ReportMetric(middle(bare, .99), "file-ms-p99")
		})
	}
}

// BenchmarkWriters has 1 and 8 goroutines write single rows to 100,000 of 256 dimensions: rows a second, and ms until one is
// durable.
//
//	go test ./segments/folder -run '^$' -bench Writers -benchtime 800x
func BenchmarkWriters(b *testing.B) {
	f, rows := benchFolder(b, files{})
	ctx := context.Background()
	for _, writers := range []int{1, 8} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			took := make([][]time.Duration, writers)
			var all sync.WaitGroup
			began := time.Now()
			for w := range writers {
				all.Go(func() {
					for i := w; i < b.N; i += writers {
						at := time.Now()
						if _, err := f.Upsert(ctx, dataset.IDsOf([]uint64{uint64(i * 7919 % benchRows)}), rows[i%1000*benchDim:(i%1000+1)*benchDim]); err != nil {
							b.Error(err)
							return
						}
						took[w] = append(took[w], time.Since(at))
					}
				})
			}
			all.Wait()
			seconds := time.Since(began).Seconds()
			each := slices.Concat(took...)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(b.N)/seconds, "rows/s")
			b.ReportMetric(middle(each, .5), "ms-p50")
			b.ReportMetric(middle(each, .99), "ms-p99")
		})
	}
}

// BenchmarkBytes writes single rows, half of them new, by 8 goroutines to 100,000 of 256 dimensions, and reports how often a row that was written
// has been coded, and the bytes written of logs, segments and other files, as multiples of the rows'.
//
//	go test ./segments/folder -run '^$' -bench Bytes -benchtime 40000x
func BenchmarkBytes(b *testing.B) {
	d := counted{logs: &atomic.Int64{}, segments: &atomic.Int64{}, others: &atomic.Int64{}}
	f, rows := benchFolder(b, d)
	ctx := context.Background()
	b.Run("single", func(b *testing.B) {
		before := f.set.Counts()
		for _, n := range []*atomic.Int64{d.logs, d.segments, d.others} {
			n.Store(0)
		}
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				for i := w; i < b.N; i += 8 {
					id := uint64(benchRows + i/2)
					if i%2 == 0 {
						id = uint64(i * 7919 % benchRows)
					}
					if _, err := f.Upsert(ctx, dataset.IDsOf([]uint64{id}), rows[i%1000*benchDim:(i%1000+1)*benchDim]); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if err := f.Maintain(ctx); err != nil {
			b.Fatal(err)
		}
		now := f.set.Counts()
		of := float64(b.N * benchDim * 4)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(now.Coded-before.Coded)/float64(b.N), "coded/row")
		b.ReportMetric(float64(d.logs.Load())/of, "log/row")
		b.ReportMetric(float64(d.segments.Load())/of, "segments/row")
		b.ReportMetric(float64(d.others.Load())/of, "others/row")
	})
}
