package collection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/floats"

	"thresher/internal/race"
)

// differ describes how two collections differ, bit for bit in every exported field and in
// the rotation; "" if they do not.
func differ(a, b *Collection) string {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		f := x.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		if why := differValue(f.Name, x.Field(i), y.Field(i)); why != "" {
			return why
		}
	}
	if (a.transform == nil) != (b.transform == nil) {
		return "one has no rotation"
	}
	if a.transform == nil {
		return ""
	}
	return differValue("transform", reflect.ValueOf(*a.transform), reflect.ValueOf(*b.transform))
}

func differValue(name string, x, y reflect.Value) string {
	switch x.Kind() {
	case reflect.Slice:
		if x.Len() != y.Len() {
			return fmt.Sprintf("%s has length %d and %d", name, x.Len(), y.Len())
		}
		for i := range x.Len() {
			if why := differValue(name, x.Index(i), y.Index(i)); why != "" {
				return fmt.Sprintf("%s at %d", why, i)
			}
		}
	case reflect.Struct:
		for i := range x.NumField() {
			if why := differValue(name+"."+x.Type().Field(i).Name, x.Field(i), y.Field(i)); why != "" {
				return why
			}
		}
	case reflect.Float32, reflect.Float64:
		if math.Float64bits(x.Float()) != math.Float64bits(y.Float()) {
			return fmt.Sprintf("%s is %g and %g", name, x.Float(), y.Float())
		}
	default:
		if !x.Equal(y) {
			return fmt.Sprintf("%s is %v and %v", name, x, y)
		}
	}
	return ""
}

func TestShapes(t *testing.T) {
	for _, s := range []struct{ n, dim int }{
		{1, 1}, {1, 16}, {2, 3}, {1, 300}, {63, 17}, {64, 17}, {65, 17}, {65, 31}, {129, 257}, {200, 700}, {128, 64},
	} {
		for _, m := range metrics {
			for _, b := range []Basis{Rotated, Raw} {
				name := fmt.Sprintf("%d x %d %v %v", s.n, s.dim, m, b)
				c := build(t, data("gaussian", s.n, s.dim, 1), s.dim, &Options{Metric: m, Basis: b, Seed: 2})
				if c.N != s.n || c.Dim != s.dim || c.Metric != m || c.Basis != b || c.Seed != 2 || len(c.Order) != s.n || len(c.Norm) != s.n {
					t.Errorf("%s: built as %d x %d", name, c.N, c.Dim)
				}
				if want := b == Rotated && s.dim >= MinRotated; c.Coded() != want {
					t.Errorf("%s: coded is %v", name, c.Coded())
				}
				if c.PanelCount() != (s.n+63)/64 {
					t.Errorf("%s: %d panels", name, c.PanelCount())
				}
				if c.Bytes() < int64(4*s.n*s.dim) {
					t.Errorf("%s: %d bytes", name, c.Bytes())
				}
				if err := c.Close(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if !c.Coded() {
					if c.D != 0 || c.R != 0 || c.Stages != nil || c.Panels != nil {
						t.Errorf("%s: D %d, R %d, %d stages without codes", name, c.D, c.R, len(c.Stages))
					}
					continue
				}
				last := 0
				for i, l := range c.Stages {
					if l.Coding != Int8 {
						if i != len(c.Stages)-2 || l.Width != c.D || c.StageOf(l.Coding) != i || len(l.Rows) != s.n*l.Stride || l.Stride < c.R+c.D/8 {
							t.Errorf("%s: stage %d of %d has %d bytes of its own, %d a row", name, i, len(c.Stages), len(l.Rows), l.Stride)
						}
						continue
					}
					if l.Width <= last || l.Width%4 != 0 || c.Stage(l.Width) != i {
						t.Errorf("%s: stage %d has width %d after %d", name, i, l.Width, last)
					}
					last = l.Width
				}
				if last != c.D || c.Stage(last+1) != -1 || c.Stages[0].Width > c.PanelWidth {
					t.Errorf("%s: stages end at %d of %d, panels hold %d", name, last, c.D, c.PanelWidth)
				}
				if len(c.Codes) != s.n*(c.R+c.D) || len(c.Panels) != c.PanelCount()*c.PanelStride() {
					t.Errorf("%s: %d codes, %d in panels", name, len(c.Codes), len(c.Panels))
				}
			}
		}
	}
}

func TestBuildKeepsRows(t *testing.T) {
	rows := data("gaussian", 70, 20, 1)
	before := slices.Clone(rows)
	c := build(t, rows, 20, &Options{Metric: InnerProduct})
	if !slices.Equal(rows, before) || &c.Rows[0] != &rows[0] {
		t.Error("rows were copied or changed")
	}
	if c.Metric != InnerProduct || c.Basis != Rotated || c.Seed != 0 {
		t.Errorf("defaults are %v, %v, seed %d", c.Metric, c.Basis, c.Seed)
	}
}

func TestBadInput(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	at := func(n, dim, i, j int, v float32) []float32 {
		x := data("gaussian", n, dim, 1)
		x[i*dim+j] = v
		return x
	}
	for _, c := range []struct {
		name        string
		rows        []float32
		dim         int
		o           Options
		row, column int // of the RowError; row -1: another error
		says        string
	}{
		{"NaN", at(100, 20, 77, 3, nan), 20, Options{Metric: InnerProduct}, 77, 3, "row 77, column 3: value NaN"},
		{"Inf", at(100, 20, 0, 19, inf), 20, Options{Metric: InnerProduct}, 0, 19, "row 0, column 19: value +Inf"},
		{"-Inf", at(100, 5, 99, 0, -inf), 5, Options{Metric: Cosine}, 99, 0, "value -Inf"},
		{"NaN, raw", at(100, 20, 50, 3, nan), 20, Options{Metric: InnerProduct, Basis: Raw}, 50, 3, "value NaN"},
		{"norm", at(100, 20, 7, 3, 2e33), 20, Options{Metric: InnerProduct}, 7, -1, "row 7: norm 1.99"},
		{"norm, cosine", at(100, 20, 7, 3, 2e33), 20, Options{Metric: Cosine}, 7, -1, "overflow"},
		{"norm, l2", at(100, 20, 7, 3, 4e16), 20, Options{Metric: Euclidean}, 7, -1, "row 7: norm 4.00"},
		{"no rows", nil, 20, Options{Metric: InnerProduct}, -1, 0, "no rows"},
		{"no columns", nil, 0, Options{Metric: InnerProduct}, -1, 0, "0 columns"},
		{"negative", []float32{1}, -1, Options{Metric: InnerProduct}, -1, 0, "-1 columns"},
		{"ragged", make([]float32, 21), 20, Options{Metric: InnerProduct}, -1, 0, "21 values"},
		{"wide", make([]float32, MaxDim+1), MaxDim + 1, Options{Metric: InnerProduct}, -1, 0, fmt.Sprint(MaxDim)},
	} {
		_, err := Build(context.Background(), c.rows, c.dim, &c.o)
		if err == nil {
			t.Errorf("%s: built", c.name)
			continue
		}
		if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q does not say %q", c.name, err, c.says)
		}
		var re *RowError
		if errors.As(err, &re) != (c.row >= 0) || re != nil && (re.Row != c.row || re.Column != c.column || re.Unwrap() == nil) {
			t.Errorf("%s: %v is not for row %d, column %d", c.name, err, c.row, c.column)
		}
	}
	// Values just within the limits.
	for _, c := range []struct {
		v float32
		m Metric
	}{{1.2e33, InnerProduct}, {1.2e33, Cosine}, {3.5e16, Euclidean}} {
		x := make([]float32, 3*40)
		x[40], x[90] = c.v, 1
		got := build(t, x, 40, &Options{Metric: c.m})
		for _, p := range got.padded() {
			for i, v := range p.terms {
				if f := float64(v); math.IsInf(f, 0) || math.IsNaN(f) {
					t.Errorf("%v: norm %g: %s %d is %g", c.m, c.v, p.name, i, v)
				}
			}
		}
	}
}

func TestCancelledBuild(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Build(ctx, data("gaussian", 100, 40, 1), 40, &Options{Metric: InnerProduct}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	// The build is cancelled at each call of Progress.
	rows := data("gaussian", 300, 40, 1)
	steps := 0
	build(t, rows, 40, &Options{Metric: InnerProduct, Threads: 1, Progress: func(int64, int64) { steps++ }})
	for stop := 1; stop <= steps; stop++ {
		ctx, cancel := context.WithCancel(context.Background())
		seen := 0
		_, err := Build(ctx, rows, 40, &Options{Metric: InnerProduct, Threads: 1, Progress: func(int64, int64) {
			if seen++; seen == stop {
				cancel()
			}
		}})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at step %d of %d: %v", stop, steps, err)
		}
	}
}

func TestProgress(t *testing.T) {
	for _, b := range []Options{{Metric: InnerProduct}, {Metric: InnerProduct, Basis: Raw}} {
		var most, total atomic.Int64
		b.Threads = 3
		b.Progress = func(done, all int64) {
			total.Store(all)
			for m := most.Load(); done > m && !most.CompareAndSwap(m, done); m = most.Load() {
			}
		}
		build(t, data("gaussian", 500, 30, 1), 30, &b)
		if most.Load() != 1000 || total.Load() != 1000 {
			t.Errorf("basis %v: %d of %d rows done at the end", b.Basis, most.Load(), total.Load())
		}
	}
}

func TestSameAtAnyThreadCount(t *testing.T) {
	metrics := metrics
	if race.Enabled { // goroutines divide the rows alike in all of them
		metrics = metrics[:1]
	}
	for _, dim := range []int{8, 100, 300} {
		for _, basis := range []Basis{Rotated, Raw} {
			for _, m := range metrics {
				rows := data("powerlaw", 700, dim, 3)
				one := build(t, rows, dim, &Options{Metric: m, Basis: basis, Seed: 5, Threads: 1})
				for _, threads := range []int{2, 3, 8} {
					many := build(t, rows, dim, &Options{Metric: m, Basis: basis, Seed: 5, Threads: threads})
					if why := differ(one, many); why != "" {
						t.Errorf("dimension %d, %v, %v: with %d threads %s", dim, basis, m, threads, why)
					}
				}
				other := build(t, rows, dim, &Options{Metric: m, Basis: basis, Seed: 6})
				if slices.Equal(one.Order, other.Order) || one.Coded() && slices.Equal(one.Codes, other.Codes) {
					t.Errorf("dimension %d, %v, %v: seeds 5 and 6 build the same", dim, basis, m)
				}
			}
		}
	}
}

func TestKeepRotated(t *testing.T) {
	for _, m := range metrics {
		for _, dim := range []int{30, 300} {
			c := build(t, data("powerlaw", 140, dim, 3), dim, &Options{Metric: m, KeepRotated: true, NoHead: true})
			if c.R != 0 {
				t.Fatalf("a head of %d against NoHead", c.R)
			}
			q := data("gaussian", 1, dim, 4)
			var p Query
			c.Prepare(&p, q, 1, nil)
			truth := relative(c, q)
			floats.Scale(math.Ldexp(1, -p.Exp), truth)
			for i := range c.N {
				got := floats.Dot(wide(c.Rotated32[i*c.D:(i+1)*c.D]), wide(p.Rest))
				if e := math.Abs(got - floats.Dot(truth, c.testWorking(i))); !(e <= c.Slack*p.Norm*float64(c.Norm[i])) {
					t.Errorf("%v, dimension %d: rotated atom %d is off by %g", m, dim, i, e)
				}
			}
		}
	}
}

func TestRawTerms(t *testing.T) {
	for _, kind := range kinds {
		for _, dim := range []int{1, 15, 16, 17, 33, 700} {
			if testing.Short() && dim == 700 {
				continue
			}
			for _, m := range metrics {
				rows := data(kind, 50, dim, 1)
				if m == Euclidean {
					rows = squaredSafe(rows)
				}
				c := build(t, rows, dim, &Options{Metric: m, Basis: Raw, Seed: 3})
				name := fmt.Sprintf("%s, dimension %d, %v", kind, dim, m)
				if len(c.Perm) != dim || len(c.SuffixNorm) != len(c.Bounds) || len(c.SuffixMax) != len(c.Bounds) {
					t.Fatalf("%s: %d places, %d bounds, %d, %d", name, len(c.Perm), len(c.Bounds), len(c.SuffixNorm), len(c.SuffixMax))
				}
				seen := make([]bool, dim)
				for _, p := range c.Perm {
					if seen[p] {
						t.Fatalf("%s: coordinate %d twice", name, p)
					}
					seen[p] = true
				}
				for b, w := range c.Bounds {
					if want := 16 << b / 2; w != want && (b > 0 || w != 0) && b+1 < len(c.Bounds) || w > dim || b+1 == len(c.Bounds) && w != dim {
						t.Fatalf("%s: bounds %v", name, c.Bounds)
					}
					for i := range c.N {
						v := c.testWorking(i)
						var sum, most float64
						for _, p := range c.Perm[w:] {
							sum += v[p] * v[p]
							most = max(most, math.Abs(v[p]))
						}
						n, x := float64(c.SuffixNorm[b][i]), float64(c.SuffixMax[b][i])
						norm := math.Sqrt(sum)
						if !(n >= norm*(1-1e-15)) || n > norm*(1+1e-6)+2e-45 || !(x >= most*(1-1e-15)) || x > most*(1+1e-6)+2e-45 {
							t.Errorf("%s: atom %d beyond %d: norm %g of %g, max %g of %g", name, i, w, n, norm, x, most)
						}
					}
				}
			}
		}
	}
}

func TestCosineZeroVectors(t *testing.T) {
	for _, dim := range []int{5, 40} {
		rows := data("gaussian", 70, dim, 1)
		clear(rows[10*dim : 12*dim])
		c := build(t, rows, dim, &Options{Metric: Cosine})
		for i, row := range c.Order {
			zero := row == 10 || row == 11
			if zero != (i >= 68) || zero != (c.Norm[i] == 0) || zero != (c.RowNorm(int(row)) == 0) {
				t.Errorf("row %d at %d has norm %g and row norm %g", row, i, c.Norm[i], c.RowNorm(int(row)))
			}
			if zero && c.Coded() && (c.HeadErr[i] != 0 || c.Stages[0].Beyond[i] != 0 || c.Stages[0].Radius[i] != 0) {
				t.Errorf("zero row %d has terms", row)
			}
		}
	}
}

// TestFewAtomsOfHugeDimension: a build of three atoms of a million coordinates takes at
// most a few times their memory.
func TestFewAtomsOfHugeDimension(t *testing.T) {
	race.Skip(t, "one goroutine")
	const n, dim = 3, 1_000_000
	rows := data("gaussian", n, dim, 1)
	for _, basis := range []Basis{Rotated, Raw} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c := build(t, rows, dim, &Options{Metric: InnerProduct, Basis: basis, Threads: 2})
		runtime.ReadMemStats(&after)
		got, limit := int64(after.TotalAlloc-before.TotalAlloc), int64(16*4*n*dim)
		if got > limit {
			t.Errorf("basis %v: %d MB allocated, at most %d expected", basis, got>>20, limit>>20)
		}
		if c.Coded() {
			q := rows[:dim]
			var p Query
			c.Prepare(&p, q, 1, nil)
			_, rest := c.testParts(0)
			score := floats.Dot(relative(c, q), c.testWorking(0)) * math.Ldexp(1, -p.Exp)
			if e := math.Abs(floats.Dot(wide(p.Rest), rest) - score); !(e <= c.Slack*p.Norm*float64(c.Norm[0])) {
				t.Errorf("score %g is off by %g", score, e)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, m := range metrics {
		if got, err := ParseMetric(m.String()); err != nil || got != m {
			t.Errorf("metric %v reads as %v, %v", m, got, err)
		}
	}
	for _, b := range []Basis{Rotated, Raw} {
		if got, err := ParseBasis(b.String()); err != nil || got != b {
			t.Errorf("basis %v reads as %v, %v", b, got, err)
		}
	}
	if _, err := ParseBasis("haar"); err == nil || !strings.Contains(err.Error(), `"haar"`) {
		t.Errorf("basis haar: %v", err)
	}
}

func TestUpward(t *testing.T) {
	for _, x := range []float64{0, 1, 1 + 1e-12, math.Pi, 1e-40, 1e-45, 1e-50, 1e38, 1e39, math.MaxFloat32 * (1 + 1e-9), -1, -math.Pi, -1e-45} {
		f := Upward(x)
		if float64(f) < x || x < 3e38 && float64(f) > x+math.Abs(x)*0x1p-22+2e-45 {
			t.Errorf("Upward(%g) = %g", x, f)
		}
	}
}
