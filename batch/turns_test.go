package batch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// turnstile grants every turn at once, and records them.
type turnstile struct {
	length   time.Duration
	expected []time.Duration
	next     func(ctx context.Context, turn int) error
}

func (t *turnstile) Length() time.Duration { return t.length }

func (t *turnstile) Next(ctx context.Context, expected time.Duration) error {
	t.expected = append(t.expected, expected)
	if t.next == nil {
		return nil
	}
	return t.next(ctx, len(t.expected))
}

// TestPartsChangeNoAnswer: the answers, certificates and sums of a search do not depend on its
// division into parts, on an Engine or a Coalescer.
func TestPartsChangeNoAnswer(t *testing.T) {
	rows := vectors.PowerLaw(vectors.Rand(9), 1200, fixtureDim)
	c := build(t, rows, fixtureDim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	e := over(t, c, 1, nil)
	together := batch.NewCoalescer(e, nil)
	defer together.Close()
	rapid.Check(t, func(r *rapid.T) {
		m := rapid.IntRange(1, 400).Draw(r, "queries")
		first := rapid.IntRange(0, 1200-m).Draw(r, "first")
		req := batch.Request{Queries: rows[first*fixtureDim : (first+m)*fixtureDim], K: rapid.IntRange(1, 20).Draw(r, "k"),
			Method:      rapid.SampledFrom([]batch.Method{batch.Auto, batch.Adaptive, batch.Certain, batch.Exact}).Draw(r, "method"),
			ExcludeSelf: true, SelfFirst: int64(first)}
		want, err := e.Search(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		turns := &turnstile{length: time.Duration(rapid.Int64Range(1, int64(5*time.Millisecond)).Draw(r, "length"))}
		req.Turns = turns
		search := rapid.SampledFrom([]func(context.Context, batch.Request) (*batch.Response, error){e.Search, together.Search}).Draw(r, "search")
		got, err := search(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		alike(t, want, got)
		if len(turns.expected) == 0 {
			t.Fatal("it asked for no turn")
		}
		if turns.length == 1 && m > 256 && len(turns.expected) < 3 {
			t.Fatalf("%d queries in %d parts", m, len(turns.expected))
		}
		for _, x := range turns.expected {
			if x <= 0 {
				t.Fatalf("a part is expected to take %v", x)
			}
		}
	})
}

// TestPartsLetOthersGo: other searches run between the parts of a search, and no part has more
// queries than Turns.Length allows.
func TestPartsLetOthersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCoalescing(t, newGate(), &batch.CoalescerOptions{Window: time.Hour, Runs: 1}, nil)
		defer l.close()
		large := l.one(0)
		large.Queries = l.rows[:1000*l.dim]
		large.Turns = &turnstile{length: 1}
		a := l.ask(t.Context(), large)
		l.runs(256) // 128 for each thread
		b := l.ask(t.Context(), l.one(1200))
		for range 3 {
			l.gate.pass()
		}
		begun, _ := l.gate.begun()
		if !slices.Contains(begun, 1) || a.answered() {
			t.Errorf("runs of %v queries while the large search is under way: %v; want the small one among them", begun, !a.answered())
		}
		l.gate.open()
		a.right()
		b.right()
		if begun, _ = l.gate.begun(); slices.Max(begun) > 257 {
			t.Errorf("runs of %v queries, want 256 and who comes along", begun)
		}
	})
}

// TestTurnsEnd: if a turn does not come before the deadline, the remaining queries get empty
// answers; an error of Turns.Next is the search's error.
func TestTurnsEnd(t *testing.T) {
	l := newCoalescing(t, newGate(), nil, nil)
	close(l.gate.opened)
	defer l.close()
	req := l.one(0)
	req.Queries, req.Deadline = l.rows[:768*l.dim], time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	turns := &turnstile{length: 1, next: func(_ context.Context, turn int) error {
		if turn == 3 {
			cancel()
			return context.Canceled
		}
		return nil
	}}
	req.Turns = turns
	resp, err := l.Search(ctx, req)
	if err := misstated(resp, err); err != nil {
		t.Fatal(err)
	}
	whole, err := l.plain.Search(t.Context(), batch.Request{Queries: req.Queries, K: req.K, Method: req.Method, Plan: req.Plan})
	if err != nil {
		t.Fatal(err)
	}
	same(t, whole.Answers[:512], resp.Answers[:512])
	for _, a := range resp.Answers[512:] {
		if c := a.Certificate; c.StoppedBy != batch.Cancelled || c.Pulls > 0 || c.OpenBound == nil {
			t.Fatalf("%+v; want an answer of which nothing was looked at", c)
		}
	}
	full := errors.New("full")
	req.Turns = &turnstile{length: 1, next: func(context.Context, int) error { return full }}
	for _, search := range []func(context.Context, batch.Request) (*batch.Response, error){l.Search, l.engine.Search} {
		if _, err := search(t.Context(), req); !errors.Is(err, full) {
			t.Errorf("refused turns: %v", err)
		}
	}
}

// TestPartsOfCandidates: parts whose queries have many candidates are shorter, and expected to
// take the time of scoring them; the answers are the same.
func TestPartsOfCandidates(t *testing.T) {
	rows := vectors.PowerLaw(vectors.Rand(9), 1200, fixtureDim)
	e := over(t, build(t, rows, fixtureDim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}), 1, nil)
	req := batch.Request{Queries: rows[:256*fixtureDim], K: 5, Method: batch.Certain, Goals: make([]batch.QueryGoal, 256)}
	want, err := e.Search(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	parts := func(candidates int) []time.Duration {
		for j := range req.Goals {
			req.Goals[j].Candidates = make([]int64, candidates)
			for i := range req.Goals[j].Candidates {
				req.Goals[j].Candidates[i] = int64((i*7 + j) % 1200)
			}
		}
		turns := &turnstile{length: 1}
		with := req
		with.Turns = turns
		got, err := e.Search(t.Context(), with)
		if err != nil {
			t.Fatal(err)
		}
		for j := range got.Answers {
			if !slices.Equal(got.Answers[j].IDs, want.Answers[j].IDs) {
				t.Errorf("query %d with %d candidates: %v, want %v", j, candidates, got.Answers[j].IDs, want.Answers[j].IDs)
			}
		}
		return turns.expected
	}
	few, many := parts(1), parts(20_000)
	if len(few) != 2 || len(many) < 8 || many[0]*time.Duration(len(many)) < 10*few[0]*time.Duration(len(few)) {
		t.Errorf("with a candidate each: parts of %v; with 20,000: %d, the first of %v", few, len(many), many[0])
	}
}
