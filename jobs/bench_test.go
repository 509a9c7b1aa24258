package jobs

import (
	"context"
	"io"
	"testing"
)

// repeat is a Source of n chunks of one item.
type repeat struct{ n int }

func (r *repeat) Skip(context.Context, int64) error { return nil }

func (r *repeat) Next(context.Context) (struct{}, int, error) {
	if r.n == 0 {
		return struct{}{}, 0, io.EOF
	}
	r.n--
	return struct{}{}, 1, nil
}

// BenchmarkChunk measures the overhead of a chunk: on the disk with all flushes, and in
// memory without any.
func BenchmarkChunk(b *testing.B) {
	out := [][]byte{make([]byte, 1<<14)}
	totals := make([]byte, 200)
	work := func(context.Context, struct{}, int64, []byte) ([][]byte, []byte, error) { return out, totals, nil }
	for _, c := range []struct {
		name string
		st   storage
	}{
		{"disk", newDiskStorage()},
		{"none", discard{newMemory()}},
	} {
		b.Run(c.name, func(b *testing.B) {
			spec := specIn(b.TempDir())
			spec.Outputs = spec.Outputs[:1]
			b.SetBytes(int64(len(out[0])))
			b.ReportAllocs()
			if _, err := run(context.Background(), spec, c.st, &repeat{b.N}, work); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// discard keeps progress in memory and discards the bytes of outputs.
type discard struct{ *memory }

func (discard) output(string, int) (file, error) { return discardFile{}, nil }

type discardFile struct{}

func (discardFile) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (discardFile) ReadAt(p []byte, _ int64) (int, error)  { return len(p), nil }
func (discardFile) Truncate(int64) error                   { return nil }
func (discardFile) Sync() error                            { return nil }
func (discardFile) Close() error                           { return nil }
func (discardFile) size() (int64, error)                   { return 0, nil }
