package catalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/collection"
	"thresher/dataset"
	"thresher/service/problem"
)

// created returns the memory of a collection of this shape that is a mapping of a file.
func (s shape) created(t *testing.T) int64 {
	t.Helper()
	src, err := dataset.Open(npyOf(t, vectors(0, int(s.rows), s.dim), s.dim), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	path := filepath.Join(t.TempDir(), "a.thresher")
	c, err := collection.Create(context.Background(), path, src, true, &collection.Options{Metric: s.metric, Basis: s.basis})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.Bytes()
}

func npyOf(t *testing.T, rows []float32, dim int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.npy")
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(dataset.WriteNPY(f, len(rows)/dim, dim, rows), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEstimate compares the estimate of a collection's memory with the collection: it is
// never less, and little more.
func TestEstimate(t *testing.T) {
	for i, s := range []shape{
		{rows: 1, dim: 1}, {rows: 100, dim: 8}, {rows: 5000, dim: 16}, {rows: 1000, dim: 20}, {rows: 3000, dim: 100},
		{rows: 500, dim: 256}, {rows: 500, dim: 257}, {rows: 2000, dim: 768}, {rows: 700, dim: 1281}, {rows: 3, dim: 900},
		{rows: 300, dim: 3000},
	} {
		for _, s.metric = range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
			if testing.Short() && int(s.metric) != i%3 {
				continue
			}
			for _, s.basis = range []collection.Basis{collection.Rotated, collection.Raw} {
				c, err := collection.Build(context.Background(), vectors(0, int(s.rows), s.dim), s.dim,
					&collection.Options{Metric: s.metric, Basis: s.basis})
				if err != nil {
					t.Fatal(err)
				}
				got, is := s.estimate(), c.Bytes()
				if got < is || float64(got) > 1.01*float64(is)+float64(1<<19) {
					t.Errorf("%v %v %v: %d bytes estimated, %d taken", s, s.metric, s.basis, got, is)
				}
				mapped := s.created(t)
				if got < mapped || mapped < is {
					t.Errorf("%v %v %v: %d bytes estimated, %d taken in memory and %d as a file", s, s.metric, s.basis, got, is, mapped)
				}
			}
		}
	}
}

func TestMemoryBudget(t *testing.T) {
	ctx := context.Background()
	one := shape{rows: 1000, dim: 8}.estimate()
	f := newFolder(t, Options{Memory: 3 * one})
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 1000, 8, nil), CreateOptions{Metric: "ip"}, ""))
	f.ready(f.c.Create(ctx, "b", rowsOf(0, 1000, 8, nil), CreateOptions{Metric: "ip"}, ""))
	_, err := f.c.Append(ctx, "a", rowsOf(0, 1000, 8, nil), "")
	if p := problem.Of(err); p.Kind != problem.OutOfMemory || p.Limit != 3*one ||
		!strings.Contains(p.Error(), "2000 rows of 8 columns need about") || !strings.Contains(p.Error(), "memory budget is") {
		t.Error(p, p.Kind, p.Limit)
	}
	// rows whose number was not known in advance stop the build that reads them
	lines := strings.Repeat("[1,2,3,4,5,6,7,8]\n", 100_000)
	p := f.failed(f.c.Create(ctx, "c", Source{Body: strings.NewReader(lines)}, CreateOptions{Metric: "ip"}, ""))
	if p.Kind != problem.OutOfMemory {
		t.Error(p)
	}
	f.ready(f.c.Create(ctx, "c", rowsOf(0, 1000, 8, nil), CreateOptions{Metric: "ip"}, "")) // all memory was released
	if err := f.c.Delete("b"); err != nil {
		t.Fatal(err)
	}
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 900, 8, nil), CreateOptions{Metric: "ip", Replace: true}, ""))
	var sum int64
	for _, i := range f.c.List() {
		sum += i.Bytes
	}
	if sum != f.c.memory.used {
		t.Errorf("%d bytes are counted, %d held", f.c.memory.used, sum)
	}

	// a smaller budget leaves versions that no longer fit on disk
	f.close()
	f.o.Memory = one
	f.open()
	states := map[State]int{}
	for _, i := range f.c.List() {
		states[i.State]++
		if i.Name == "a" && i.State != Ready {
			t.Error("the first by name has no memory:", i.Error)
		}
		if i.State == Failed && i.Failure.Kind != problem.OutOfMemory {
			t.Error(i.Error)
		}
	}
	if states[Failed] != 1 || states[Ready] != 1 {
		t.Error(states)
	}
	f.close()
	f.o.Memory = 0
	f.open()
	for _, i := range f.c.List() {
		if i.State != Ready {
			t.Error(i)
		}
	}
}

// TestMemoryOfWhatIsRecorded: while recorded versions are loading, new ones that do not fit
// next to all of them are refused.
func TestMemoryOfWhatIsRecorded(t *testing.T) {
	ctx := context.Background()
	g := newGate(t)
	f := newFolder(t, Options{})
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 100, 8, nil), CreateOptions{Metric: "ip"}, ""))
	f.ready(f.c.Create(ctx, "b", rowsOf(0, 100, 8, nil), CreateOptions{Metric: "ip"}, ""))
	taken := f.c.memory.used
	f.c.o.Open = g.Open
	next, err := f.c.Create(ctx, "c", rowsOf(0, 100, 8, nil), CreateOptions{Metric: "ip"}, "")
	if err != nil {
		t.Fatal(err)
	}
	<-g.arrived
	f.close()

	f.o.Open, f.o.Memory = g.Open, taken+shape{rows: 100, dim: 8}.estimate()
	f.begin()
	if first := <-g.arrived; first != "a" {
		t.Error("loaded first:", first)
	}
	// a is loading, b is waiting to be loaded, and c is not built yet
	if _, err := f.c.Create(ctx, "d", rowsOf(0, 1, 1, nil), CreateOptions{Metric: "ip"}, ""); kindOf(err) != problem.OutOfMemory {
		t.Error(err)
	}
	for range 2 {
		g.pass <- nil
		<-g.arrived
	}
	g.pass <- nil
	f.ready(next, nil)
	for _, i := range f.c.List() {
		if i.State != Ready {
			t.Error(i)
		}
	}
	if len(f.c.List()) != 3 {
		t.Error(f.c.List())
	}
}

// TestMemoryOfWhatAnswersFirst: the current version gets memory before older, pinned ones.
func TestMemoryOfWhatAnswersFirst(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 100, 8, nil), CreateOptions{Metric: "ip"}, ""))
	if err := f.c.Pin("a", 1, "owner"); err != nil {
		t.Fatal(err)
	}
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 100, 8, nil), CreateOptions{Metric: "ip", Replace: true}, ""))
	f.close()
	f.o.Memory = shape{rows: 100, dim: 8}.estimate()
	f.open()
	contents(t, f.c, "a", 2)
	if _, err := f.c.Use("a", 1); kindOf(err) != problem.OutOfMemory {
		t.Error(err)
	}
}

// TestBuildUponWhatCannotBeLoaded: an accepted change is kept until a later start in which it
// can be built.
func TestBuildUponWhatCannotBeLoaded(t *testing.T) {
	ctx := context.Background()
	g := newGate(t)
	f := newFolder(t, Options{})
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 100, 8, nil), CreateOptions{Metric: "ip"}, ""))
	f.c.o.Open = g.Open
	i, err := f.c.Append(ctx, "a", rowsOf(0, 1, 8, nil), "")
	if err != nil {
		t.Fatal(err)
	}
	<-g.arrived
	f.close()
	f.o.Memory = 1
	f.open()
	// the build may have been postponed before the test waits for it
	if i, err := f.c.Wait(ctx, "a", i.Version); err != nil || i.State != Failed || i.Failure.Kind != problem.OutOfMemory {
		t.Error(i, err)
	}
	f.close()
	f.o.Memory = 0
	f.open()
	if i = f.ready(i, nil); i.Count != 101 {
		t.Error(i)
	}
}

// TestPreparedInASmallerBudget restarts a build with a budget that it does not fit.
func TestPreparedInASmallerBudget(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	col, err := collection.Create(ctx, filepath.Join(root, "c.thresher"), &memorySource{data: vectors(0, 100, 8), dim: 8}, false, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	if err := col.Close(); err != nil {
		t.Error(err)
	}
	g := newGate(t)
	f := newFolder(t, Options{Open: g.Open, Roots: []string{root}})
	i, err := f.c.Create(ctx, "a", Source{Path: "c.thresher"}, CreateOptions{Metric: "ip"}, "")
	if err != nil || i.Count != 100 {
		t.Fatal(i, err)
	}
	<-g.arrived
	f.close()
	f.o.Memory = 1
	f.open()
	if p := f.failed(i, nil); p.Kind != problem.OutOfMemory {
		t.Error(p)
	}
	if got := f.files(); len(got) != 0 || f.c.memory.used != 0 {
		t.Error(got, f.c.memory.used)
	}
}

func TestEngineThatDoesNotOpen(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 100, 8, nil), CreateOptions{Metric: "ip"}, ""))
	f.close()
	good := f.o.Open
	g := newGate(t)
	f.o.Open = g.Open
	go func() { g.pass <- errors.New("no device") }()
	f.open()
	i, err := f.c.Wait(ctx, "a", 0)
	if err != nil || i.State != Failed {
		t.Error(i, err)
	}
	if _, err := f.c.Use("a", 0); kindOf(err) != problem.Internal {
		t.Error(err)
	}
	f.close()
	f.o.Open = good
	f.open()
	contents(t, f.c, "a", 0)
}
