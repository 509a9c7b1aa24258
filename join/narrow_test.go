package join_test

import (
	"fmt"
	"io"
	"math"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/race"
	"thresher/join"
)

// TestGraphOfBytes: vectors of int8 have the graph of float32 vectors of the same values, whether they are
// searched one by one or each pair once.
func TestGraphOfBytes(t *testing.T) {
	race.Skip(t, "the arithmetic of other tests")
	const n, dim = 1500, 96
	rows := lumps(n, dim)
	for i, x := range rows {
		rows[i] = float32(math.Round(float64(max(-127, min(20*x, 127)))))
	}
	data := make([]byte, len(rows))
	if bad := dataset.ElemInt8.Encode(data, rows); bad >= 0 {
		t.Fatal(rows[bad])
	}
	v, err := dataset.NewVectors(dataset.ElemInt8, dim, data)
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range metrics() {
		c, err := collection.BuildVectors(t.Context(), v, &collection.Options{Metric: metric, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		e, err := batch.Open(t.Context(), c, cpu.New(cpu.Options{Threads: 2}), nil)
		if err != nil {
			t.Fatal(err)
		}
		floats := open(t, rows, dim, metric, 2)
		for _, way := range []join.Way{join.ByRow, join.ByPair} {
			t.Run(fmt.Sprint(metric, way), func(t *testing.T) {
				want, _ := graph(t, floats, join.GraphOptions{K: 9, Way: way})
				got, _ := graph(t, e, join.GraphOptions{K: 9, Way: way})
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("(-float32 +int8):\n%.2000s", diff)
				}
			})
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestJoinsOfFloat64: vectors that are kept as float64 and far from zero, where float32 does not tell them apart, have the
// graph and the pairs that their scores in float64 make, whichever way they are searched.
func TestJoinsOfFloat64(t *testing.T) {
	race.Skip(t, "the arithmetic of other tests")
	const n, dim, k = 1500, 96, 9
	lumps := lumps(n, dim)
	rows := make([]float64, len(lumps))
	for _, metric := range metrics() {
		for i, x := range lumps {
			rows[i] = float64(x) * (1 + 1e-10*float64(i%7))
			if metric == collection.Euclidean {
				rows[i] += 1e8 // where float32 has steps of 8
			}
		}
		v, err := dataset.VectorsOf(rows, dim)
		if err != nil {
			t.Fatal(err)
		}
		c, err := collection.BuildVectors(t.Context(), v, &collection.Options{Metric: metric, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		e, err := batch.Open(t.Context(), c, cpu.New(cpu.Options{Threads: 2}), nil)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := graph(t, e, join.GraphOptions{K: k, Way: join.ByRow})
		second, _ := graph(t, e, join.GraphOptions{K: k, Way: join.ByPair})
		if diff := gocmp.Diff(first, second); diff != "" {
			t.Errorf("%v: (-by row +by pair):\n%.2000s", metric, diff)
		}
		for _, row := range []int{0, 7, n - 1} {
			all := scores64(rows, dim, row, metric)
			worst, above := all[first[row].Rows[k-1]], 0
			for i, x := range all {
				if i != row && x > worst+1e-12*math.Abs(worst) {
					above++
				}
			}
			if above > k-1 {
				t.Errorf("%v: %d vectors are nearer to row %d than its %d-th neighbour", metric, above, row, k)
			}
			if got, want := float64(first[row].Scores[0]), metric.Shown(all[first[row].Rows[0]]); math.Abs(got-want) > 1e-6*math.Abs(want) {
				t.Errorf("%v: row %d: score %v, want %v", metric, row, got, want)
			}
		}
		all := scores64(rows, dim, 0, metric)
		limit := metric.Shown(all[first[0].Rows[k-1]] * (1 - 1e-9))
		if metric == collection.Euclidean {
			limit = metric.Shown(all[first[0].Rows[k-1]] * (1 + 1e-9))
		}
		got := pairsOf(t, e, join.PairOptions{MinScore: limit}, nil)
		table := pairsOf(t, e, join.PairOptions{MinScore: limit, Stored: true}, v.Slice(0, 40).Reader())
		reached := 0
		for _, p := range got {
			if p.A == 0 || p.B == 0 {
				reached++
			}
		}
		ofTable := 0
		for _, p := range table {
			if p.B == 0 && p.A != 0 {
				ofTable++
			}
		}
		if reached < k || ofTable != reached {
			t.Errorf("%v: row 0 is in %d pairs of the vectors and in %d of a table that has it; the graph has %d at least", metric, reached, ofTable, k)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// scores64 are the search scores of all rows for one of them.
func scores64(rows []float64, dim, row int, metric collection.Metric) []float64 {
	q := rows[row*dim:][:dim]
	all := make([]float64, len(rows)/dim)
	for i := range all {
		var dot, far, vv, qq float64
		for j, x := range rows[i*dim:][:dim] {
			dot, far, vv, qq = dot+q[j]*x, far+(q[j]-x)*(q[j]-x), vv+x*x, qq+q[j]*q[j]
		}
		switch metric {
		case collection.Euclidean:
			all[i] = -far / 2
		case collection.Cosine:
			all[i] = dot / math.Sqrt(vv*qq)
		default:
			all[i] = dot
		}
	}
	return all
}

func pairsOf(t *testing.T, e *batch.Engine, o join.PairOptions, other dataset.Reader) (all []dataset.Pair) {
	t.Helper()
	d, err := join.Sample(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := join.SelfPairs(e, o, d)
	if other != nil {
		s, err = join.TablePairs(e, other, o, d)
	}
	for err == nil {
		var b join.PairBlock
		if b, _, err = s.Next(t.Context()); err == nil {
			all = append(all, b.Pairs...)
		}
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	return all
}
