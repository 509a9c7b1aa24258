package jobs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name    string
		n, size int64
		chunks  int64
	}{
		{"no items", 0, 4, 0},
		{"one short chunk", 3, 4, 1},
		{"whole chunks", 12, 4, 3},
		{"last chunk short", 13, 4, 4},
		{"chunks of one", 5, 1, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := specIn(t.TempDir())
			var seen []Progress
			spec.Observe = func(p Progress) { seen = append(seen, p) }
			src := &numbers{n: c.n, size: c.size}
			sum, err := Run(context.Background(), spec, src, answerNumbers())
			if err != nil {
				t.Fatal(err)
			}
			if !sum.Complete || sum.Chunks != c.chunks || sum.Items != c.n || sum.Resumed != 0 {
				t.Errorf("summary %+v", sum)
			}
			checkOutputs(t, readDisk(t), spec, c.n)
			if c.n > 0 {
				checkTotals(t, sum, c.n)
			}
			if len(src.skipped) > 0 {
				t.Errorf("skipped %v", src.skipped)
			}

			if len(seen) != int(c.chunks) {
				t.Fatalf("observed %d chunks", len(seen))
			}
			for i, p := range seen {
				items := min(c.n, c.size*int64(i+1))
				want, _ := reference(items)
				if p.Items != items || p.Chunks != int64(i+1) || p.Bytes != int64(len(want[0])+len(want[1])) || p.Elapsed < 0 {
					t.Errorf("observed %+v after chunk %d", p, i)
				}
			}

			if err := Finish(spec.Progress); err != nil {
				t.Fatal(err)
			}
			if err := Finish(spec.Progress); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("second Finish: %v", err)
			}
			entries, err := os.ReadDir(filepath.Dir(spec.Progress))
			if err != nil || len(entries) != 2 {
				t.Errorf("left behind %v, %v", entries, err)
			}
		})
	}
}

// stopAt cancels, or fails, in the work on the chunk that begins at item first.
func stopAt(first int64, stop func() error) Work[[]int64] {
	answer := answerNumbers()
	return func(ctx context.Context, chunk []int64, at int64, former []byte) ([][]byte, []byte, error) {
		if at == first {
			if err := stop(); err != nil {
				return nil, nil, err
			}
		}
		return answer(ctx, chunk, at, former)
	}
}

// TestMode: outputs that a run creates have the mode of the Spec.
func TestMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not say who may read")
	}
	dir := t.TempDir()
	spec := Spec{Progress: filepath.Join(dir, "p"), Outputs: []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}, Fingerprint: "f", Mode: 0o600}
	work := func(context.Context, []int64, int64, []byte) ([][]byte, []byte, error) {
		return [][]byte{{1}, {2}}, nil, nil
	}
	if _, err := Run(t.Context(), spec, &numbers{n: 3, size: 2}, work); err != nil {
		t.Fatal(err)
	}
	for _, path := range append(spec.Outputs, spec.Progress) {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
}

func TestStopAndResume(t *testing.T) {
	const n, size = 23, 4
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		src   func(s *numbers) Source[[]int64]
		stop  func(cancel context.CancelCauseFunc) error // at item 8
		is    []error
		says  string
		items int64 // durable after the stop
	}{
		{
			name:  "work fails",
			stop:  func(context.CancelCauseFunc) error { return broken },
			is:    []error{broken},
			says:  "stopped with 8 items durable: answering items 8 to 11: broken",
			items: 8,
		},
		{
			name: "cancelled, work heeds it",
			stop: func(cancel context.CancelCauseFunc) error {
				cancel(broken)
				return context.Canceled
			},
			is:    []error{context.Canceled},
			says:  "stopped with 8 items durable",
			items: 8,
		},
		{
			name: "cancelled, work ends its chunk",
			stop: func(cancel context.CancelCauseFunc) error {
				cancel(broken)
				return nil
			},
			is:    []error{context.Canceled, broken},
			says:  "stopped with 12 items durable: context canceled: broken",
			items: 12,
		},
		{
			name:  "source fails",
			src:   func(s *numbers) Source[[]int64] { return &failing{numbers: s, at: 16, err: broken} },
			is:    []error{broken},
			says:  "stopped with 16 items durable: reading from item 16 on: broken",
			items: 16,
		},
		{
			name:  "source ends within an item",
			src:   func(s *numbers) Source[[]int64] { return &failing{numbers: s, at: 16, err: io.ErrUnexpectedEOF} },
			is:    []error{io.ErrUnexpectedEOF},
			says:  "reading from item 16 on",
			items: 16,
		},
		{
			name:  "source returns items beside its end",
			src:   func(s *numbers) Source[[]int64] { return &failing{numbers: s, at: 16, items: 2, err: io.EOF} },
			says:  "2 items beside its end",
			items: 16,
		},
		{
			name:  "source returns an empty chunk",
			src:   func(s *numbers) Source[[]int64] { return &failing{numbers: s, at: 16} },
			says:  "a chunk of 0 items",
			items: 16,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := specIn(t.TempDir())
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			src := Source[[]int64](&numbers{n: n, size: size})
			if c.src != nil {
				src = c.src(&numbers{n: n, size: size})
			}
			stop := func() error { return nil }
			if c.stop != nil {
				stop = func() error { return c.stop(cancel) }
			}
			sum, err := Run(ctx, spec, src, stopAt(8, stop))
			for _, want := range c.is {
				if !errors.Is(err, want) {
					t.Errorf("error %v is not %v", err, want)
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), spec.Progress) {
				t.Errorf("error %v, want %q in it", err, c.says)
			}
			if sum.Complete || sum.Items != c.items {
				t.Errorf("summary %+v, want %d items", sum, c.items)
			}
			checkOutputs(t, readDisk(t), spec, c.items)
			if err := Finish(spec.Progress); !errors.Is(err, ErrIncomplete) {
				t.Errorf("Finish: %v", err)
			}

			spec.Resume = true
			good := &numbers{n: n, size: size}
			sum, err = Run(context.Background(), spec, good, answerNumbers())
			if err != nil {
				t.Fatal(err)
			}
			if !sum.Complete || sum.Resumed != c.items || !slices.Equal(good.skipped, []int64{c.items}) {
				t.Errorf("resumed: %+v, skipped %v", sum, good.skipped)
			}
			checkOutputs(t, readDisk(t), spec, n)
			checkTotals(t, sum, n)
		})
	}
}

// TestNothingDurableLeavesNothing: a job that fails in its first chunk can be started again
// by the same call, and does not touch files that it did not create.
func TestNothingDurableLeavesNothing(t *testing.T) {
	broken := errors.New("broken")
	fail := func() Source[[]int64] { return &failing{numbers: &numbers{n: 23, size: 4}, err: broken} }
	for _, c := range []struct {
		name string
		src  Source[[]int64]
		work Work[[]int64]
	}{
		{"source", fail(), answerNumbers()},
		{"work", &numbers{n: 23, size: 4}, stopAt(0, func() error { return broken })},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := specIn(t.TempDir())
			_, err := Run(context.Background(), spec, c.src, c.work)
			var stopped *StoppedError
			if !errors.As(err, &stopped) || stopped.Items != 0 || stopped.Progress != spec.Progress || !errors.Is(err, broken) {
				t.Fatalf("error %v", err)
			}
			left, err := os.ReadDir(filepath.Dir(spec.Progress))
			if err != nil || len(left) != 0 {
				t.Fatalf("left %v behind (%v)", left, err)
			}
			if _, err := Run(context.Background(), spec, &numbers{n: 23, size: 4}, answerNumbers()); err != nil {
				t.Fatal(err)
			}

			spec.Force = true
			if _, err := Run(context.Background(), spec, fail(), answerNumbers()); !errors.Is(err, broken) {
				t.Fatal(err)
			}
			if left, err := os.ReadDir(filepath.Dir(spec.Progress)); err != nil || len(left) != 0 {
				t.Fatalf("started over, left %v behind (%v)", left, err)
			}
		})
	}
}

// failing is a Source that returns items and err at one item.
type failing struct {
	*numbers
	at    int64
	items int
	err   error
}

func (f *failing) Next(ctx context.Context) ([]int64, int, error) {
	if f.numbers.at == f.at {
		return nil, f.items, f.err
	}
	return f.numbers.Next(ctx)
}

// blocked is a Source that waits for its context.
type blocked struct{ *numbers }

func (b blocked) Next(ctx context.Context) ([]int64, int, error) {
	<-ctx.Done()
	return nil, 0, ctx.Err()
}

func TestCancelWhileReading(t *testing.T) {
	for _, c := range []struct {
		name string
		ctx  func() (context.Context, context.CancelFunc)
		want error
	}{
		{"before", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx, cancel
		}, context.Canceled},
		{"deadline", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), time.Millisecond)
		}, context.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := c.ctx()
			defer cancel()
			_, err := run(ctx, specIn("/job"), newMemory(), blocked{&numbers{}}, answerNumbers())
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v", err)
			}
		})
	}
}

// TestCancelIsPrompt cancels when the next chunk has been read already.
func TestCancelIsPrompt(t *testing.T) {
	for range 100 {
		ctx, cancel := context.WithCancel(context.Background())
		work := stopAt(8, func() error { cancel(); return nil })
		sum, err := run(ctx, specIn("/job"), newMemory(), &numbers{n: 100, size: 4}, work)
		if !errors.Is(err, context.Canceled) || sum.Items != 12 {
			t.Fatalf("%d items, error %v", sum.Items, err)
		}
	}
}

// slow is a Source that notices its cancellation late.
type slow struct {
	numbers
	entered chan struct{}
	inside  atomic.Bool
}

func (s *slow) Next(ctx context.Context) ([]int64, int, error) {
	if s.at < 8 {
		return s.numbers.Next(ctx)
	}
	s.inside.Store(true)
	defer s.inside.Store(false)
	close(s.entered)
	<-ctx.Done()
	for range 10000 {
		runtime.Gosched()
	}
	return nil, 0, ctx.Err()
}

// TestAwaitsSource checks that Next is no longer running when Run returns.
func TestAwaitsSource(t *testing.T) {
	broken := errors.New("broken")
	src := &slow{numbers: numbers{n: 23, size: 4}, entered: make(chan struct{})}
	work := stopAt(4, func() error {
		<-src.entered
		return broken
	})
	_, err := run(context.Background(), specIn("/job"), newMemory(), src, work)
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if src.inside.Load() {
		t.Error("Next outlives Run")
	}
}

// TestTotalsAreKept has a Work that overwrites its own memory before it fails.
func TestTotalsAreKept(t *testing.T) {
	answer := answerNumbers()
	var mine []byte
	work := func(ctx context.Context, chunk []int64, first int64, former []byte) ([][]byte, []byte, error) {
		if first == 8 {
			clear(mine)
			return nil, nil, errors.New("broken")
		}
		out, totals, err := answer(ctx, chunk, first, former)
		mine = totals
		return out, totals, err
	}
	sum, err := run(context.Background(), specIn("/job"), newMemory(), &numbers{n: 23, size: 4}, work)
	if err == nil {
		t.Fatal("no error")
	}
	checkTotals(t, sum, 8)
}

func TestWrongNumberOfOutputs(t *testing.T) {
	disk := newMemory()
	work := func(context.Context, []int64, int64, []byte) ([][]byte, []byte, error) {
		return [][]byte{nil}, nil, nil
	}
	_, err := run(context.Background(), specIn("/job"), disk, &numbers{n: 4, size: 4}, work)
	if err == nil || !strings.Contains(err.Error(), "1 outputs, want 2") {
		t.Fatalf("error %v", err)
	}
}

func TestResumeShorterSource(t *testing.T) {
	disk := newMemory()
	spec := specIn("/job")
	broken := errors.New("broken")
	_, err := run(context.Background(), spec, disk, &numbers{n: 20, size: 4}, stopAt(12, func() error { return broken }))
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	spec.Resume = true
	_, err = run(context.Background(), spec, disk, &numbers{n: 8, size: 4}, answerNumbers())
	if err == nil || !strings.Contains(err.Error(), "skipping the first 12 items") {
		t.Fatalf("error %v", err)
	}
}

func TestSpecCheck(t *testing.T) {
	good := specIn("/job")
	for _, c := range []struct {
		name   string
		change func(*Spec)
		says   string
	}{
		{"no progress", func(s *Spec) { s.Progress = "" }, "no path"},
		{"no outputs", func(s *Spec) { s.Outputs = nil }, "no outputs"},
		{"unnamed output", func(s *Spec) { s.Outputs = []string{"a", ""} }, "output 1"},
		{"output twice", func(s *Spec) { s.Outputs = []string{"a", "./a"} }, "./a"},
		{"output is progress", func(s *Spec) { s.Outputs = []string{s.Progress} }, "named twice"},
		{"no fingerprint", func(s *Spec) { s.Fingerprint = "" }, "fingerprint"},
		{"resume and force", func(s *Spec) { s.Resume, s.Force = true, true }, "exclude"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := good
			c.change(&spec)
			_, err := Run(context.Background(), spec, &numbers{}, answerNumbers())
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q in it", err, c.says)
			}
		})
	}
}
