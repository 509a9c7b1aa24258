package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"thresher/batch"
	"thresher/cmd/thresher/internal/corpus"
	"thresher/cpu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testDim is large enough for the planner to eliminate on so few texts.
const testDim = 1024

// some is every twelfth text of the extract.
func some(context.Context) (*corpus.Corpus, error) {
	c, err := corpus.Embedded()
	if err != nil {
		return nil, err
	}
	var kept []corpus.Entry
	for i := 0; i < len(c.Entries); i += 12 {
		kept = append(kept, c.Entries[i])
	}
	return &corpus.Corpus{Version: c.Version, Entries: kept}, nil
}

// runSmall runs a demo on a few texts; change may alter its options.
func runSmall(t *testing.T, change func(*Options)) (*Report, string) {
	t.Helper()
	b := cpu.New(cpu.Options{Threads: 2})
	defer b.Close()
	o := &Options{Backend: b, Load: some, Dim: testDim, Seed: 3, Threads: 2}
	if change != nil {
		change(o)
	}
	var out bytes.Buffer
	r, err := Run(context.Background(), o, &out)
	if err != nil {
		t.Fatal(err)
	}
	return r, out.String()
}

// TestHitsAreTheBest recomputes the questions' answers.
func TestHitsAreTheBest(t *testing.T) {
	var rows []float32
	r, _ := runSmall(t, func(o *Options) {
		o.Queries = []string{"returns an error", "encode a value", "lock a mutex"}
		o.Keep = func(n, dim int, data []float32) error {
			if len(data) != n*dim || dim != testDim {
				return fmt.Errorf("%d numbers for %d x %d", len(data), n, dim)
			}
			rows = slices.Clone(data)
			return nil
		}
	})
	c, err := some(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_, w, err := corpus.Vectorize(context.Background(), c, testDim, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Questions) != 3 || r.Batch != nil {
		t.Fatalf("%d questions, batch %v", len(r.Questions), r.Batch)
	}
	for _, q := range r.Questions {
		v := w.Query(q.Query)
		var want []float64
		score := map[string]float64{}
		for i, e := range c.Entries {
			var s float64
			for j, x := range v {
				s += float64(x) * float64(rows[i*testDim+j])
			}
			score[e.Symbol()] = s
			want = append(want, s)
		}
		slices.Sort(want)
		slices.Reverse(want)
		if len(q.Hits) != wanted {
			t.Fatalf("%q: %d hits", q.Query, len(q.Hits))
		}
		for i, h := range q.Hits {
			if math.Abs(float64(h.Score)-want[i]) > 1e-6 || math.Abs(float64(h.Score)-score[h.Symbol]) > 1e-6 {
				t.Errorf("%q: hit %d is %s at %g; its score is %g, the best left %g", q.Query, i, h.Symbol, h.Score, score[h.Symbol], want[i])
			}
		}
	}
}

func TestTour(t *testing.T) {
	r, text := runSmall(t, nil)
	t.Run("figures", func(t *testing.T) { figuresAddUp(t, r, text) })
	t.Run("text", func(t *testing.T) { textIsReadable(t, text) })
	t.Run("json", func(t *testing.T) { reportIsJSON(t, r) })
	t.Run("again", func(t *testing.T) {
		_, again := runSmall(t, func(o *Options) { o.Threads = 1 })
		clocks := regexp.MustCompile(`(?m)^Read in.*$|[0-9.]+ (ms|s)\b|^queries a second.*$|[0-9.]+ times faster| +`)
		if a, b := clocks.ReplaceAllString(text, " "), clocks.ReplaceAllString(again, " "); a != b {
			t.Errorf("two runs of one seed differ:\n%s\n%s", a, b)
		}
	})
}

func figuresAddUp(t *testing.T, r *Report, text string) {
	c, err := some(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	n, b := len(c.Entries), r.Batch
	if r.Atoms != n || r.Dimension != testDim || b.Queries != n || r.K != wanted || len(r.Questions) != len(usual()) {
		t.Fatalf("report of %d x %d, %d queries, k %d, %d questions", r.Atoms, r.Dimension, b.Queries, r.K, len(r.Questions))
	}
	// Every comment may be answered by every other one.
	if want := int64(n) * int64(n-1) * testDim; b.DensePulls != want {
		t.Errorf("dense pulls %d, want %d", b.DensePulls, want)
	}
	if b.Saving != float64(b.DensePulls)/float64(b.Pulls) {
		t.Errorf("saving %g of %d / %d", b.Saving, b.DensePulls, b.Pulls)
	}
	k := &b.Compared
	if k.Queries != n || k.Extrapolated || k.WholeDenseSeconds != k.DenseSeconds {
		t.Errorf("two pieces fit in the sample, but %+v", k)
	}
	if k.Ratio != k.DenseSeconds/k.SearchSeconds || k.SearchSeconds != b.SearchSeconds || k.WrongAllowed != b.WrongAllowed {
		t.Errorf("%+v does not agree with %+v", k, b)
	}
	if (b.Law != "") != (b.Guarantee == batch.GuaranteeProbabilistic) {
		t.Errorf("guarantee %s by law %q", b.Guarantee, b.Law)
	}
	if b.Method != batch.Adaptive {
		t.Logf("the planner takes method %s for so few texts; figures of elimination are not seen here", b.Method)
	}
	// 456 answers at delta .01 each: at most 4.56 wrong on average, more than 20 with
	// probability 2e-8; the seed is fixed, too.
	if k.Wrong > 20 || k.Differing < k.Wrong {
		t.Errorf("%d wrong of %d differing", k.Wrong, k.Differing)
	}
	for _, figure := range []string{
		thousands(n), thousands(testDim), seconds(b.SearchSeconds), seconds(k.DenseSeconds),
		fmt.Sprintf("%.1f times fewer", b.Saving), fmt.Sprintf("%.1f times faster", k.Ratio),
		"allows " + strconv.FormatFloat(k.WrongAllowed, 'g', 3, 64),
		percent(b.Pulls, b.DensePulls), string(b.Method), r.Questions[0].Hits[0].Symbol,
		fmt.Sprintf("%.3f", r.Questions[0].Hits[0].Score), thousands(r.Questions[0].Certificate.Pulls),
	} {
		if k.WrongAllowed == 0 && strings.HasPrefix(figure, "allows") {
			continue
		}
		if !strings.Contains(text, figure) {
			t.Errorf("%q is not printed", figure)
		}
	}
}

func TestSampleIsLabelled(t *testing.T) {
	r, text := runSmall(t, func(o *Options) { o.Dim, o.Sample = 64, 1 })
	k := &r.Batch.Compared
	if k.Queries == 0 || k.Queries > piece || !k.Extrapolated {
		t.Fatalf("%+v, want one piece of at most %d", k, piece)
	}
	if want := k.DenseSeconds * float64(r.Batch.Queries) / float64(k.Queries); math.Abs(k.WholeDenseSeconds-want) > 1e-9*want {
		t.Errorf("whole dense scan %g s, want %g", k.WholeDenseSeconds, want)
	}
	if !strings.Contains(text, fmt.Sprintf("extrapolated from %d queries", k.Queries)) {
		t.Error("an extrapolated figure is not labelled")
	}
}

func textIsReadable(t *testing.T, text string) {
	_, asked := runSmall(t, func(o *Options) {
		o.Dim = 64
		o.Queries = []string{"qqxyzzy", "a very long question\nabout " + strings.Repeat("errors ", 40)}
	})
	if !strings.Contains(asked, `"qqxyzzy": no word of it`) {
		t.Errorf("an unknown question is not named:\n%s", asked)
	}
	for _, line := range strings.Split(text+asked, "\n") {
		if utf8.RuneCountInString(line) > lineWidth || strings.TrimRight(line, " ") != line {
			t.Errorf("line of %d characters: %q", utf8.RuneCountInString(line), line)
		}
	}
	_, certificate, _ := strings.Cut(text, "line by line ==")
	if strings.Contains(certificate, "...") {
		t.Errorf("an explanation is cut:\n%s", certificate)
	}
}

func reportIsJSON(t *testing.T, r *Report) {
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	whole, ok := back["batch"].(map[string]any)
	if !ok || whole["saving"] != r.Batch.Saving || back["vectors"] != float64(r.Atoms) {
		t.Errorf("%s", b)
	}
}

func TestRunStops(t *testing.T) {
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	for _, stage := range []string{"reading comments", "preparing vectors", "every comment against all others"} {
		ctx, cancel := context.WithCancel(context.Background())
		o := &Options{Backend: b, Load: some, Dim: 64, Progress: func(s string, _, _ int64) {
			if s == stage {
				cancel()
			}
		}}
		if _, err := Run(ctx, o, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled while %s: %v", stage, err)
		}
		cancel()
	}
}

func TestRunTellsFailure(t *testing.T) {
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	bad := errors.New("no room")
	o := &Options{Backend: b, Load: some, Dim: 64, Queries: []string{"error"}}
	if _, err := Run(context.Background(), o, failing{bad}); !errors.Is(err, bad) {
		t.Errorf("failing writer: %v", err)
	}
	o.Keep = func(int, int, []float32) error { return bad }
	if _, err := Run(context.Background(), o, nil); !errors.Is(err, bad) {
		t.Errorf("failing Keep: %v", err)
	}
	o.Load = func(context.Context) (*corpus.Corpus, error) { return nil, bad }
	if _, err := Run(context.Background(), o, nil); !errors.Is(err, bad) {
		t.Errorf("failing Load: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestJudge compares answers that differ by a tie, by rounding, in length and by a wrong
// atom.
func TestJudge(t *testing.T) {
	texts := make([]corpus.Entry, 5)
	rows := []float32{
		1, 0, 0, 0, // the query
		.5, 0, 0, 0,
		.5, .1, 0, 0, // a tie with the previous one
		.4, 0, 0, 0,
		.5 - 0x1p-24, 0, 0, 0, // below the tie by less than rounding
	}
	tr := &tour{Options: &Options{}, corpus: &corpus.Corpus{Entries: texts}, rows: rows}
	answer := func(ids ...int64) *batch.Response {
		return &batch.Response{Answers: []batch.Answer{{IDs: ids, Certificate: batch.Certificate{
			Guarantee: batch.GuaranteeProbabilistic, Delta: .25}}}}
	}
	for _, c := range []struct {
		got, want        *batch.Response
		differing, wrong int
	}{
		{answer(1, 2), answer(2, 1), 0, 0},
		{answer(1), answer(2), 1, 0},
		{answer(4), answer(1), 1, 0},
		{answer(3), answer(1), 1, 1},
		{answer(1, 3), answer(1, 2), 1, 1},
		{answer(1), answer(1, 2), 1, 1},
		{answer(), answer(1), 1, 1},
	} {
		var k DenseComparison
		tr.judge(&k, 0, c.got, c.want)
		if k.Differing != c.differing || k.Wrong != c.wrong || k.Queries != 1 || k.WrongAllowed != .25 {
			t.Errorf("%v for %v: %+v, want %d differing, %d wrong", c.got.Answers[0].IDs, c.want.Answers[0].IDs, k, c.differing, c.wrong)
		}
	}
}

func TestBatchAddsUp(t *testing.T) {
	var b Batch
	for range 2 {
		b.add(&batch.Response{Took: 1500 * time.Millisecond, Stats: batch.Stats{Pulls: 3, DensePulls: 30, Exact: 2, Dense: 1},
			Answers: []batch.Answer{
				{Certificate: batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Delta: .25}},
				{Certificate: batch.Certificate{Guarantee: batch.GuaranteeExact, Delta: .25}},
			}})
	}
	want := Batch{SearchSeconds: 3, Pulls: 6, DensePulls: 60, NeededNoLuck: 4, WentDense: 2, WrongAllowed: .5}
	if b != want {
		t.Errorf("%+v, want %+v", b, want)
	}
}
