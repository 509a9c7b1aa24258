package folder

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/crashtest"
)

func TestMain(m *testing.M) {
	crashtest.Main(writeAloud)
	goleak.VerifyTestMain(m)
}

// newBackend returns a CPU backend that is closed with the test.
func newBackend(t testing.TB) backend.Backend {
	b := cpu.New(cpu.Options{Threads: 2})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// fataler is a test or one case of a property.
type fataler interface {
	Fatal(...any)
	Fatalf(string, ...any)
	Helper()
}

// model is what a folder should hold, by id.
type model struct {
	dim    int
	rows   map[string][]float32
	wide   map[string][]float64       // of those that were written in float64, and rounded in rows
	values map[string][]dataset.Value // of drawnFields
}

func newModel(dim int) *model {
	return &model{dim, map[string][]float32{}, map[string][]float64{}, map[string][]dataset.Value{}}
}

// drawnFields are the columns of folders, and drawnElems the types of their vectors.
var (
	drawnFields = []columns.Field{{Name: "year", Type: columns.Integer}, {Name: "lang", Type: columns.Text}, {Name: "tags", Type: columns.TextList}, {Name: "seen", Type: columns.Time}}
	drawnElems  = []dataset.Elem{dataset.ElemFloat32, dataset.ElemFloat64, dataset.ElemInt8, dataset.ElemFloat16, dataset.ElemBFloat16}
)

// drawColumns draws some of the columns for n rows, nil for none.
func drawColumns(r *rand.Rand, n int) *columns.Columns {
	if r.IntN(5) == 0 {
		return nil
	}
	drawn := map[string][]any{}
	for i, values := range [][]any{
		{1999, 2000, 2001, nil}, {"go", "rust", "", nil}, {[]string{"a", "b"}, []string{}, []string{"c"}, nil}, {"2024-05-01", "2024-05-02T01:02:03Z", nil},
	} {
		if r.IntN(8) == 0 {
			continue
		}
		own := make([]any, n)
		for row := range own {
			own[row] = values[r.IntN(len(values))]
		}
		drawn[drawnFields[i].Name] = own
	}
	b, err := json.Marshal(drawn)
	if err != nil {
		panic(err)
	}
	c, err := columns.FromJSON(b)
	if err != nil {
		panic(err)
	}
	if len(drawn) == 0 {
		return nil
	}
	return c
}

// valuesOf are the values of a row of a change.
func valuesOf(c *Change, row int) []dataset.Value {
	values := make([]dataset.Value, len(drawnFields))
	if c.Columns == nil {
		return values
	}
	for i, f := range drawnFields {
		for _, of := range c.Columns.All() {
			if of.Name == f.Name {
				values[i] = of.Value(row)
			}
		}
	}
	return values
}

// do makes a change and returns what Apply should say of it.
func (m *model) do(c *Change) (want Written) {
	for row := range c.IDs.Len() {
		id := c.IDs.Text(int64(row))
		_, there := m.rows[id]
		if c.Deletes() {
			if there {
				want.Deleted++
				delete(m.rows, id)
				delete(m.wide, id)
				delete(m.values, id)
			}
			continue
		}
		want.Rows++
		if there {
			want.Replaced++
		}
		if delete(m.wide, id); c.Rows64 == nil {
			m.rows[id] = slices.Clone(c.Rows[row*m.dim : (row+1)*m.dim])
		} else {
			m.wide[id] = slices.Clone(c.Rows64[row*m.dim : (row+1)*m.dim])
			m.rows[id] = nil
			for _, x := range m.wide[id] {
				m.rows[id] = append(m.rows[id], float32(x))
			}
		}
		m.values[id] = valuesOf(c, row)
	}
	return want
}

// ids returns all ids.
func (m *model) ids(texts bool) *dataset.IDs { return idsOf(slices.Sorted(maps.Keys(m.rows)), texts) }

// idsOf returns ids, also texts that look like numbers.
func idsOf(list []string, texts bool) *dataset.IDs {
	var b dataset.IDsBuilder
	if texts {
		b.BecomeTexts()
	}
	for _, id := range list {
		b.Add(id)
	}
	return b.IDs()
}

// check fails unless the folder holds the model, and searches answer as one collection of it does, bit for bit.
func (m *model) check(t fataler, f *Folder, b backend.Backend, texts bool, seed uint64) {
	t.Helper()
	now := f.Snapshot()
	defer now.Release()
	if now.Len() != len(m.rows) {
		t.Fatalf("%d vectors, want %d", now.Len(), len(m.rows))
	}
	if len(m.rows) == 0 {
		return
	}
	numbers := now.Numbers(m.ids(texts))
	ids := now.IDs(numbers)
	order := make([]int, len(numbers))
	for i, number := range numbers {
		order[i] = i
		if id := ids.Text(int64(i)); !slices.Equal(now.Vector(number), m.rows[id]) {
			t.Fatalf("vector %s is %v, want %v", id, now.Vector(number), m.rows[id])
		} else if m.wide[id] != nil && !slices.Equal(now.Given(number), m.wide[id]) {
			t.Fatalf("vector %s is %v, want %v", id, now.Given(number), m.wide[id])
		}
	}
	slices.SortFunc(order, func(i, j int) int { return int(numbers[i] - numbers[j]) })
	var rows []float32
	var wide []float64
	for _, i := range order {
		id := ids.Text(int64(i))
		rows, wide = append(rows, m.rows[id]...), append(wide, m.wide[id]...)
	}
	ctx := context.Background()
	given, err := dataset.VectorsOf(rows, m.dim)
	if f.elem == dataset.ElemFloat64 {
		given, err = dataset.VectorsOf(wide, m.dim)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := collection.BuildVectors(ctx, given, &collection.Options{Metric: f.metric, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := batch.Open(ctx, c, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	r := rand.New(rand.NewPCG(seed, 1))
	req := batch.Request{K: 1 + r.IntN(12), Method: []batch.Method{batch.Exact, batch.Certain}[r.IntN(2)], SearchScores: true}
	for range 3 {
		at := r.IntN(len(m.rows)) * m.dim
		if wide != nil {
			req.Queries64 = append(req.Queries64, wide[at:at+m.dim]...)
		} else {
			req.Queries = append(req.Queries, rows[at:at+m.dim]...)
		}
	}
	number := func(row int64) int64 { return numbers[order[row]] }
	m.compare(t, whole, req, now.Search, number)
	if len(f.Form().Columns) == 0 {
		return
	}
	all, err := now.Rows()
	if err != nil {
		t.Fatal(err)
	}
	described, inOrder := all.Columns(), now.IDs(all.IDs())
	for row := range all.Len() {
		for i, of := range described.All() {
			if diff := cmp.Diff(m.values[inOrder.Text(int64(row))][i], of.Value(row)); diff != "" {
				t.Fatalf("vector %s, column %s: %s", inOrder.Text(int64(row)), of.Name, diff)
			}
		}
	}
	expr, err := columns.Parse([]string{"year >= 2000 and not lang = 'go' or tags has 'a'", "seen > '2024-05-01'", "year = 1984"}[r.IntN(3)])
	if err != nil {
		t.Fatal(err)
	}
	selected, err := now.Select(expr)
	if err != nil {
		t.Fatal(err)
	}
	if req.Filter, err = described.RowsFor(expr); err != nil {
		t.Fatal(err)
	}
	wanted := []int64{}
	for _, row := range req.Filter {
		wanted = append(wanted, number(row))
	}
	if got := selected.IDs(); !slices.Equal(got, wanted) || selected.Len() != len(wanted) {
		t.Fatalf("selected %v, want %v", got, wanted)
	}
	m.compare(t, whole, req, selected.Search, number)
}

// compare fails unless search answers as a whole does, whose rows have these numbers.
func (m *model) compare(t fataler, whole *batch.Engine, req batch.Request, search func(context.Context, batch.Request) (*batch.Response, error), number func(row int64) int64) {
	t.Helper()
	ctx := context.Background()
	want, err := whole.Search(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	req.Filter = nil
	got, err := search(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	for j := range want.Answers {
		g, w := &got.Answers[j], &want.Answers[j]
		for i := range w.IDs {
			if len(g.IDs) != len(w.IDs) || g.IDs[i] != number(w.IDs[i]) || math.Float64bits(g.SearchScores[i]) != math.Float64bits(w.SearchScores[i]) {
				t.Fatalf("query %d: %v %v, want rows %v %v", j, g.IDs, g.SearchScores, w.IDs, w.SearchScores)
			}
		}
	}
}

// apply makes a change of both.
func (m *model) apply(t fataler, f *Folder, c Change) {
	t.Helper()
	got, err := f.Apply(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := m.do(&c)
	if want.Version = got.Version; got != want {
		t.Fatalf("%+v, want %+v", got, want)
	}
}

// drawChange draws a change of few of the ids that there can be.
func drawChange(r *rand.Rand, dim, universe, most int, texts bool) Change {
	var list []string
	for _, i := range r.Perm(universe)[:1+r.IntN(most)] {
		if texts {
			list = append(list, []string{"id ", ""}[i%2]+fmt.Sprint(i))
		} else {
			list = append(list, fmt.Sprint(uint64(i)+[]uint64{0, 1 << 63}[i%2]))
		}
	}
	c := Change{IDs: idsOf(list, texts)}
	if r.IntN(4) > 0 {
		c.Rows = make([]float32, len(list)*dim)
		for i := range c.Rows {
			c.Rows[i] = float32(r.IntN(5) - 2) // many scores are equal
		}
		for i := 0; i < len(c.Rows); i += dim {
			c.Rows[i] = 1 // a cosine with zeros would be 0
		}
		c.Columns = drawColumns(r, len(list))
	}
	return c
}

// inType returns a change for a folder that keeps a type: of float64 rows differ by what float32 does not hold.
func (c Change) inType(e dataset.Elem) Change {
	if e != dataset.ElemFloat64 || c.Rows == nil {
		return c
	}
	for i, x := range c.Rows {
		c.Rows64 = append(c.Rows64, float64(x)+1e-9*float64(i%3))
	}
	c.Rows = nil
	return c
}

// created returns the path of a new folder with drawnFields.
func created(t testing.TB, metric collection.Metric, dim int) string {
	t.Helper()
	return createdOf(t, metric, dim, dataset.ElemFloat32)
}

// createdOf is created of a folder that keeps a type.
func createdOf(t testing.TB, metric collection.Metric, dim int, elem dataset.Elem) string {
	t.Helper()
	path := t.TempDir() + "/vectors"
	if err := Create(path, Form{Metric: metric, Dim: dim, Elem: elem, Columns: drawnFields}); err != nil {
		t.Fatal(err)
	}
	return path
}

// opened opens a folder.
func opened(t fataler, path string, o Options) *Folder {
	t.Helper()
	f, err := Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// closed closes a folder.
func closed(t fataler, f *Folder) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
