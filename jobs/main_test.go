package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"thresher/internal/crashtest"
	_ "thresher/internal/draws"
)

func TestMain(m *testing.M) {
	crashtest.Main(childhood)
	goleak.VerifyTestMain(m)
}

// The jobs of these tests answer the numbers 0 to n-1. Each has a line in the
// first output and 0 to 8 bytes in the second.

func answerItem(item int64) (line, blob []byte) {
	r := rand.New(rand.NewPCG(1, uint64(item)))
	line = fmt.Appendf(nil, "%d %x\n", item, r.Uint64())
	blob = bytes.Repeat([]byte{byte(item)}, r.IntN(9))
	return line, blob
}

type totals struct{ Items, Sum int64 }

// reference is the expected output of a job, computed without Run.
func reference(n int64) (out [2][]byte, sum totals) {
	for item := range n {
		line, blob := answerItem(item)
		out[0] = append(out[0], line...)
		out[1] = append(out[1], blob...)
		sum.Items++
		sum.Sum += item
	}
	return out, sum
}

// numbers is a Source that uses all liberties of the contract: it reuses the memory of a
// chunk at the second Next after it.
type numbers struct {
	n, size, at int64
	buf         [2][]int64
	next        int
	skipped     []int64
	hook        func(op string) // may be nil
}

func (s *numbers) Skip(_ context.Context, items int64) error {
	s.skipped = append(s.skipped, items)
	if items > s.n {
		return fmt.Errorf("source has %d items, cannot skip %d", s.n, items)
	}
	s.at = items
	return nil
}

func (s *numbers) Next(context.Context) ([]int64, int, error) {
	if s.hook != nil {
		s.hook("next")
	}
	if s.at == s.n {
		return nil, 0, io.EOF
	}
	chunk := s.buf[s.next][:0]
	for range min(s.size, s.n-s.at) {
		chunk = append(chunk, s.at)
		s.at++
	}
	s.buf[s.next] = chunk
	s.next = 1 - s.next
	return chunk, len(chunk), nil
}

// answerNumbers is a Work that reuses its memory.
func answerNumbers() Work[[]int64] {
	out := make([][]byte, 2)
	var encoded []byte
	return func(_ context.Context, chunk []int64, first int64, former []byte) ([][]byte, []byte, error) {
		var sum totals
		if former != nil {
			if err := json.Unmarshal(former, &sum); err != nil {
				return nil, nil, err
			}
		}
		if first != sum.Items {
			return nil, nil, fmt.Errorf("chunk begins at %d, totals count %d", first, sum.Items)
		}
		out[0], out[1] = out[0][:0], out[1][:0]
		for i, item := range chunk {
			if item != first+int64(i) {
				return nil, nil, fmt.Errorf("item %d is %d", first+int64(i), item)
			}
			line, blob := answerItem(item)
			out[0] = append(out[0], line...)
			out[1] = append(out[1], blob...)
			sum.Items++
			sum.Sum += item
		}
		js, err := json.Marshal(sum)
		encoded = append(encoded[:0], js...)
		return out, encoded, err
	}
}

func specIn(dir string) Spec {
	return Spec{
		Progress:    filepath.Join(dir, "out.progress"),
		Outputs:     []string{filepath.Join(dir, "lines"), filepath.Join(dir, "blobs")},
		Fingerprint: "numbers",
	}
}

// checkOutputs compares the first items of the job with the reference.
func checkOutputs(t testing.TB, read func(path string) []byte, spec Spec, items int64) {
	t.Helper()
	want, _ := reference(items)
	for i, path := range spec.Outputs {
		if got := read(path); !bytes.Equal(got, want[i]) {
			t.Fatalf("%s after %d items: %d bytes, want %d\n%s", filepath.Base(path), items, len(got), len(want[i]), cmp.Diff(string(want[i]), string(got)))
		}
	}
}

func checkTotals(t testing.TB, sum Summary, items int64) {
	t.Helper()
	_, want := reference(items)
	var got totals
	if err := json.Unmarshal(sum.Totals, &got); err != nil {
		t.Fatal(err)
	}
	if got != want || sum.Items != items {
		t.Fatalf("summary says %d items and totals %+v, want %+v", sum.Items, got, want)
	}
}

func readDisk(t testing.TB) func(string) []byte {
	return func(path string) []byte {
		t.Helper()
		p, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}
