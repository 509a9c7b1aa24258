package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/segments/folder"
	"thresher/service/problem"
)

// placer searches collections that change on one backend.
func placer(t testing.TB) Placer {
	b := cpu.New(cpu.Options{Threads: 1})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return placedOn(b)
}

func placedOn(b *cpu.Backend) Placer {
	return func(string) (backend.Backend, *batch.Options, error) { return b, &batch.Options{}, nil }
}

// held returns the vectors of a version by id, as given.
func held(t testing.TB, v *Version) map[string][]float64 {
	t.Helper()
	whole, err := v.o.c.Whole(context.Background(), v)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Release()
	all := map[string][]float64{}
	for row := range int64(whole.Len()) {
		id := whole.IDs().Name(row)
		if whole.IDs().Kind() == RowNumbers {
			id = fmt.Sprint(row)
		}
		all[id] = whole.Given(row)
	}
	if len(all) != whole.Len() || whole.Len() != v.Len() {
		t.Errorf("%d rows, %d ids, %d of the version", whole.Len(), len(all), v.Len())
	}
	return all
}

// use returns a version in use until the test ends.
func (f *fixture) use(name string, version int64) *Version {
	f.t.Helper()
	v, err := f.c.Use(name, version)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

// TestChangeByRows: rows are written, replaced, appended and deleted by id; the next use has each write, after a restart too, uses
// keep what they had, and searches answer as one collection of the same vectors does.
func TestChangeByRows(t *testing.T) {
	for _, test := range []struct {
		metric string
		kind   Kind
		dtype  string
	}{{"ip", RowNumbers, ""}, {"l2", Integers, ""}, {"cosine", Strings, ""}, {"l2", Integers, "float64"}, {"ip", RowNumbers, "float64"}} {
		t.Run(test.metric+test.dtype, func(t *testing.T) {
			const dim = 6
			f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
			r := rand.New(rand.NewPCG(1, 2))
			want := map[string][]float64{}
			draw := func(ids ...int64) Source {
				src := Source{Dim: dim, Rows64: make([]float64, len(ids)*dim)}
				for i := range src.Rows64 {
					src.Rows64[i] = float64(r.IntN(9)+1) + 1e5*float64(len(test.metric)%2)
					if test.dtype != "" { // alike once they are rounded to float32
						src.Rows64[i] = 1e9 + r.NormFloat64()
					}
				}
				src.IDs = &Keys{}
				for i, id := range ids {
					name := fmt.Sprint(id)
					if test.kind == Strings {
						name = fmt.Sprint("id ", id)
						src.IDs.Names = append(src.IDs.Names, name)
					} else {
						src.IDs.Ints = append(src.IDs.Ints, id)
					}
					want[name] = src.Rows64[i*dim : (i+1)*dim]
				}
				return src
			}
			var first []int64
			for i := range int64(40) {
				first = append(first, i*7%40) // not in order
				if test.kind == RowNumbers {
					first[i] = i
				}
			}
			src := draw(first...)
			if test.kind == RowNumbers {
				src.IDs = nil
			}
			f.ready(f.c.Create(ctx, "a", src, CreateOptions{Metric: test.metric, DType: test.dtype}, ""))
			before := maps.Clone(want)
			old := f.use("a", 0)
			writes := uint64(0)
			next := int64(100)
			for step := range 40 {
				var i Info
				var err error
				writes++
				switch n := r.IntN(5); {
				case step == 0 || n < 2:
					i, err = f.c.Put(ctx, "a", draw(int64(r.IntN(30)), 30+int64(r.IntN(30)), int64(60+r.IntN(20))), "")
				case n == 2:
					next += 2
					i, err = f.c.Append(ctx, "a", draw(next, next+1), "")
				default:
					var keys Keys
					all := slices.Sorted(maps.Keys(want))
					for _, at := range r.Perm(len(all))[:2] {
						if test.kind == Strings {
							keys.Names = append(keys.Names, all[at])
						} else {
							var id int64
							fmt.Sscan(all[at], &id)
							keys.Ints = append(keys.Ints, id)
						}
						delete(want, all[at])
					}
					i, err = f.c.Remove(ctx, "a", keys, "")
				}
				if err != nil || i.Version != 2 || i.Writes == nil || *i.Writes != writes || i.State != Ready || i.Tag() != fmt.Sprint("2-", writes) {
					t.Fatalf("step %d: %+v, %v", step, i, err)
				}
				if step%13 == 5 {
					f.close()
					old = nil
					f.open()
				}
				v := f.use("a", 0)
				if d := cmp.Diff(want, held(t, v)); d != "" {
					t.Fatalf("step %d: %s", step, d)
				}
				if got := v.Info(); got.Count != int64(len(want)) || got.Version != 2 || *got.Writes != writes || test.dtype != "" && (got.DType != test.dtype || got.Rounded != nil) {
					t.Fatalf("step %d: %+v", step, got)
				}
				f.searchesAlike(v, want)
				v.Release()
				if old != nil {
					if d := cmp.Diff(before, held(t, old)); d != "" {
						t.Fatalf("step %d: an earlier use has changed: %s", step, d)
					}
					if step%13 == 4 { // the next step opens the catalog again
						old.Release()
					}
				}
			}
			if names := f.files(); len(names) != 1 || !strings.HasSuffix(names[0], ".folder") {
				t.Errorf("files %v", names)
			}
			if err := f.c.Delete("a"); err != nil {
				t.Fatal(err)
			}
			if names := f.files(); len(names) != 0 {
				t.Errorf("left of a deleted collection: %v", names)
			}
			if got := f.c.Memory(); got != 0 {
				t.Errorf("memory %d", got)
			}
		})
	}
}

// searchesAlike compares a version with what one collection of its vectors answers.
func (f *fixture) searchesAlike(v *Version, want map[string][]float64) {
	f.t.Helper()
	ctx := context.Background()
	whole, err := f.c.Whole(ctx, v)
	if err != nil {
		f.t.Fatal(err)
	}
	defer whole.Release()
	for id, row := range want {
		req := batch.Request{Queries64: row, K: 5, Method: batch.Exact, SearchScores: true}
		a, err1 := v.Search(ctx, req)
		b, err2 := whole.Search(ctx, req)
		if err := errors.Join(err1, err2); err != nil {
			f.t.Fatal(err)
		}
		for i, row := range b.Answers[0].IDs {
			x, y := &a.Answers[0], &b.Answers[0]
			if math.Float64bits(x.SearchScores[i]) != math.Float64bits(y.SearchScores[i]) || v.IDs().Name(x.IDs[i]) != whole.IDs().Name(row) {
				f.t.Fatalf("query %s: %v %v, want %v %v", id, x.IDs, x.SearchScores, y.IDs, y.SearchScores)
			}
		}
		if !v.Float64() || v.Metric() != collection.Euclidean {
			return
		}
		var nearest []float64 // by a sum of its own
		for _, other := range want {
			sum := 0.
			for j, x := range row {
				sum += (x - other[j]) * (x - other[j])
			}
			nearest = append(nearest, sum)
		}
		slices.Sort(nearest)
		for i, score := range a.Answers[0].SearchScores {
			if math.Abs(-2*score-nearest[i]) > 1e-9 {
				f.t.Errorf("query %s: place %d is at %g, not %g", id, i, -2*score, nearest[i])
			}
		}
		return
	}
}

// TestWritersAndConditions: writers do not wait for another's build; a change that requires another state is refused, and so is what is not there,
// or there already; rows without ids get the next.
func TestWritersAndConditions(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "ip"}, ""))
	zero, one, two := uint64(0), uint64(1), uint64(2)
	for i, test := range []struct {
		do   func(context.Context) (Info, error)
		on   onlyOn
		want string // "" for none
	}{
		{func(ctx context.Context) (Info, error) { return f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(3)), "") }, onlyOn{2, nil}, "the newest version of collection a is 1"},
		{func(ctx context.Context) (Info, error) { return f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(3)), "") }, onlyOn{1, &zero}, "the newest version of collection a is 1"},
		{func(ctx context.Context) (Info, error) { return f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(3)), "") }, onlyOn{1, nil}, ""},
		{func(ctx context.Context) (Info, error) { return f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(3)), "") }, onlyOn{1, nil}, "version of collection a is 2 with 1 writes"},
		{func(ctx context.Context) (Info, error) { return f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(3)), "") }, onlyOn{2, &zero}, "version of collection a is 2 with 1 writes"},
		{func(ctx context.Context) (Info, error) { return f.c.Remove(ctx, "a", *ints(3), "") }, onlyOn{2, &one}, ""},
		{func(ctx context.Context) (Info, error) { return f.c.Append(ctx, "a", rowsOf(0, 1, 4, nil), "") }, onlyOn{2, &one}, "with 2 writes"},
		{func(ctx context.Context) (Info, error) { return f.c.Append(ctx, "a", rowsOf(0, 1, 4, nil), "") }, onlyOn{2, &two}, ""},
		{func(ctx context.Context) (Info, error) { return f.c.Remove(ctx, "a", *ints(3), "") }, onlyOn{}, "has the id 3"},
		{func(ctx context.Context) (Info, error) { return f.c.Remove(ctx, "a", *names("x"), "") }, onlyOn{}, "ids are strings"},
		{func(ctx context.Context) (Info, error) { return f.c.Append(ctx, "a", rowsOf(0, 2, 4, ints(50, 4)), "") }, onlyOn{}, `row 1: id "4": there is a vector`},
		{func(ctx context.Context) (Info, error) { return f.c.Put(ctx, "a", rowsOf(0, 2, 4, nil), "") }, onlyOn{}, "have no ids"},
		{func(ctx context.Context) (Info, error) { return f.c.Put(ctx, "a", rowsOf(0, 2, 4, ints(7)), "") }, onlyOn{}, "1 ids for 2 rows"},
		{func(ctx context.Context) (Info, error) { return f.c.Put(ctx, "a", rowsOf(0, 2, 4, ints(7, 7)), "") }, onlyOn{}, "rows 0 and 1 have the same id 7"},
		{func(ctx context.Context) (Info, error) { return f.c.Put(ctx, "a", rowsOf(0, 2, 4, ints(7, -7)), "") }, onlyOn{}, "row 1 has the id -7"},
		{func(ctx context.Context) (Info, error) {
			return f.c.Put(ctx, "a", rowsOf(0, 2, 4, names("a", "b")), "")
		}, onlyOn{}, "are integers"},
		{func(ctx context.Context) (Info, error) { return f.c.Put(ctx, "a", rowsOf(0, 2, 5, ints(7, 8)), "") }, onlyOn{}, "rows of 5 columns"},
		{func(ctx context.Context) (Info, error) {
			return f.c.Put(ctx, "a", Source{Rows64: []float64{1, 2, math.NaN(), 4}, Dim: 4, IDs: ints(7)}, "")
		}, onlyOn{}, "row 0, column 2 is NaN"},
		{func(ctx context.Context) (Info, error) { return f.c.Put(ctx, "b", rowsOf(0, 2, 4, ints(7, 8)), "") }, onlyOn{}, `no collection "b"`},
	} {
		ctx := ctx
		if test.on.version != 0 {
			ctx = OnlyOn(ctx, test.on.version, test.on.writes)
		}
		_, err := test.do(ctx)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("change %d: %v, want %q", i, err, test.want)
		}
	}
	v := f.use("a", 0)
	if ids := slices.Sorted(maps.Keys(held(t, v))); !slices.Equal(ids, []string{"0", "1", "10", "2", "4", "5", "6", "7", "8", "9"}) {
		t.Errorf("ids %v", ids) // 3 was deleted, 10 appended
	}
	v.Release()

	if _, err := f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(5000)), ""); err != nil { // rows without ids come after it
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range int64(8) {
		all.Go(func() {
			for n := range int64(10) {
				if _, err := f.c.Put(ctx, "a", rowsOf(int(n), 1, 4, ints(100+10*w+n)), ""); err != nil {
					t.Error(err)
				}
				if _, err := f.c.Append(ctx, "a", rowsOf(int(n), 1, 4, nil), ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	v = f.use("a", 0)
	defer v.Release()
	if n := len(held(t, v)); n != 11+160 {
		t.Errorf("%d rows", n)
	}
}

// TestFolderOfTheFirstWriter: of writers that come together one makes the folder, and a bad one makes none.
func TestFolderOfTheFirstWriter(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "ip"}, ""))
	if _, err := f.c.Put(ctx, "a", rowsOf(0, 2, 4, ints(1, 1)), ""); err == nil {
		t.Error("two rows of one id")
	}
	if i, err := f.c.Get("a"); err != nil || i.Version != 1 || i.Writes != nil {
		t.Errorf("after a bad request: %+v, %v", i, err)
	}
	var all sync.WaitGroup
	f.c.o.Patience = 1 << 40
	for w := range int64(6) {
		all.Go(func() {
			if i, err := f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(20+w)), ""); err != nil || i.Version != 2 {
				t.Error(i, err)
			}
		})
	}
	all.Wait()
	if i, err := f.c.Get("a"); err != nil || *i.Writes != 6 || i.Count != 16 || i.IDs != Integers {
		t.Errorf("%+v, %v", i, err)
	}
	// a build that replaces the collection ends the folder
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 5, 3, nil), CreateOptions{Metric: "ip", Replace: true}, ""))
	if i, err := f.c.Get("a"); err != nil || i.Version != 3 || i.Count != 5 || i.Writes != nil {
		t.Errorf("%+v, %v", i, err)
	}
	if names := f.files(); len(names) != 1 {
		t.Errorf("files %v", names)
	}
}

// TestWhatCannotChangeByRows is refused by name, and so is a value that the type of the rows does not have, before and after they change.
func TestWhatCannotChangeByRows(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	f.ready(f.c.Create(ctx, "wide", Source{Rows64: []float64{.1, .2, .3, .4}, Dim: 4}, CreateOptions{Metric: "ip", DType: "float64"}, ""))
	for _, version := range []int64{1, 2} {
		for value, kind := range map[float64]problem.Kind{1e39: problem.NotFinite, math.NaN(): problem.NotFinite, 1e37: problem.InvalidValue} {
			_, err := f.c.Put(ctx, "wide", Source{Rows64: []float64{1, 2, 3, 4, 5, 6, value, 8}, Dim: 4, IDs: ints(1, 9)}, "")
			if p := problem.Of(err); p.Kind != kind || p.Field != "rows" || p.Index != 1 {
				t.Errorf("%g: %v", value, err)
			}
		}
		if i, err := f.c.Get("wide"); err != nil || i.Version != version || i.DType != "float64" {
			t.Errorf("%+v, %v", i, err)
		}
		if _, err := f.c.Put(ctx, "wide", rowsOf(0, 1, 4, ints(9)), ""); err != nil {
			t.Fatal(err)
		}
	}
	body := "\x93NUMPY\x01\x00v\x00" + fmt.Sprintf("%-117s\n", "{'descr': '|i1', 'fortran_order': False, 'shape': (3, 4), }") + "abcdefghijkl"
	f.ready(f.c.Create(ctx, "bytes", Source{Body: strings.NewReader(body), Format: dataset.NPY}, CreateOptions{Metric: "ip"}, ""))
	for _, version := range []int64{1, 2} {
		for _, far := range []float64{.5, 128} {
			_, err := f.c.Put(ctx, "bytes", Source{Rows64: []float64{1, 2, 3, 4, 5, 6, far, 8}, Dim: 4, IDs: ints(1, 9)}, "")
			if p := problem.Of(err); p.Kind != problem.InvalidValue || p.Field != "rows" || p.Index != 1 || !strings.Contains(err.Error(), fmt.Sprintf("row 1, column 2: value %g is no int8", far)) {
				t.Errorf("%g: %v", far, err)
			}
		}
		if i, err := f.c.Get("bytes"); err != nil || i.Version != version || i.DType != "int8" {
			t.Errorf("%+v, %v", i, err)
		}
		if _, err := f.c.Put(ctx, "bytes", Source{Rows64: []float64{1, 2, -128, 4}, Dim: 4, IDs: ints(9)}, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPinOfWhatChanges: a pin keeps what was there as a version of its own, through later writes and restarts, until it is given up.
func TestPinOfWhatChanges(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "l2"}, ""))
	put := func(id int64) {
		t.Helper()
		if _, err := f.c.Put(ctx, "a", rowsOf(int(id), 1, 4, ints(id)), ""); err != nil {
			t.Fatal(err)
		}
	}
	put(50)
	v := f.use("a", 0)
	want := held(t, v)
	v.Release()
	version, err := f.c.PinNow(ctx, "a", "owner")
	if err != nil || version != 3 {
		t.Fatal(version, err)
	}
	if again, err := f.c.PinNow(ctx, "a", "other"); err != nil || again != version {
		t.Errorf("the same was copied twice: %d, %v", again, err)
	}
	put(51)
	put(3)
	for range 2 {
		kept := f.use("a", version)
		if d := cmp.Diff(want, held(t, kept)); d != "" || kept.Changes() {
			t.Error(d)
		}
		kept.Release()
		now := f.use("a", 0)
		if now.Len() != 12 || now.Info().Version != 2 {
			t.Errorf("%+v", now.Info())
		}
		now.Release()
		f.close()
		f.open()
	}
	if err := errors.Join(f.c.Unpin("owner"), f.c.Unpin("other")); err != nil {
		t.Fatal(err)
	}
	if names := f.files(); len(names) != 1 {
		t.Errorf("files %v", names)
	}
	if _, err := f.c.Use("a", version); err == nil {
		t.Error("it is still there")
	}
}

// TestKeyOfAChangeByRows: a request that is repeated under its key is answered with what the first did, also once the collection was deleted
// and once another of other dimensions has its name, and another is refused.
func TestKeyOfAChangeByRows(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "ip"}, ""))
	one, two := uint64(1), uint64(2)
	var first [4]Info
	uploaded := func(row string) Source { return Source{Body: strings.NewReader(`{"id":3,"vector":` + row + "}\n")} }
	for again := range 4 {
		switch again {
		case 2:
			if err := f.c.Delete("a"); err != nil {
				t.Fatal(err)
			}
			f.close()
			f.open()
		case 3:
			f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 6, nil), CreateOptions{Metric: "ip"}, ""))
		}
		for n, do := range []func() (Info, error){
			func() (Info, error) { return f.c.Put(OnlyOn(ctx, 1, nil), "a", rowsOf(0, 1, 4, ints(5)), "k1") },
			func() (Info, error) { return f.c.Append(OnlyOn(ctx, 2, &one), "a", rowsOf(0, 1, 4, nil), "k2") },
			func() (Info, error) { return f.c.Remove(OnlyOn(ctx, 2, &two), "a", *ints(7), "k3") },
			func() (Info, error) { return f.c.Put(ctx, "a", uploaded("[1,2,3,4]"), "k4") },
		} {
			i, err := do()
			if err != nil || i.Tag() != fmt.Sprint("2-", n+1) {
				t.Fatal(i, err)
			}
			if again == 0 {
				first[n] = i
			}
			if d := cmp.Diff(first[n], i, cmpopts.EquateApproxTime(0)); d != "" {
				t.Error(d)
			}
		}
	}
	for name, err := range map[string]error{
		"other rows":         second(f.c.Put(ctx, "a", rowsOf(1, 1, 4, ints(5)), "k1")),
		"other ids":          second(f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(6)), "k1")),
		"other uploaded row": second(f.c.Put(ctx, "a", uploaded("[1,2,3,5]"), "k4")),
	} {
		if kindOf(err) != problem.KeyReused {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(5)), "k5"); kindOf(err) != problem.WrongDimension {
		t.Error("a key that is new:", err)
	}
	if err := f.c.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(5)), "k5"); kindOf(err) != problem.UnknownCollection {
		t.Error("a key that is new:", err)
	}
	if names := f.files(); len(names) != 0 {
		t.Errorf("files %v", names)
	}
}

// TestMemoryOfWhatChanges: writes and blocks stay within the budget, and give it back.
func TestMemoryOfWhatChanges(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 100, 8, nil), CreateOptions{Metric: "ip"}, ""))
	if _, err := f.c.Put(ctx, "a", rowsOf(0, 1, 8, ints(5)), ""); err != nil {
		t.Fatal(err)
	}
	v := f.use("a", 0)
	bytes := f.c.Memory()
	if bytes < 100*8*4 {
		t.Errorf("%d bytes", bytes)
	}
	f.c.memory.most = bytes + 100
	if _, err := f.c.Put(ctx, "a", rowsOf(0, 50, 8, counted(1000, 50)), ""); kindOf(err) != problem.OutOfMemory {
		t.Errorf("rows beyond the budget: %v", err)
	}
	if _, err := f.c.Whole(ctx, v); kindOf(err) != problem.OutOfMemory {
		t.Errorf("a block beyond the budget: %v", err)
	}
	f.c.memory.most = 0
	whole, err := f.c.Whole(ctx, v)
	if err != nil {
		t.Fatal(err)
	}
	again, err := f.c.Whole(ctx, v)
	if err != nil || again.Collection() != whole.Collection() {
		t.Errorf("made twice: %v", err)
	}
	again.Release()
	if f.c.Memory() <= bytes {
		t.Error("a block takes no memory")
	}
	v.Release()
	if _, err := f.c.Remove(ctx, "a", *ints(5), ""); err != nil {
		t.Fatal(err)
	}
	v = f.use("a", 0)
	newer, err := f.c.Whole(ctx, v)
	if err != nil || newer.Len() != 99 || whole.Len() != 100 {
		t.Errorf("%v", err)
	}
	whole.Release()
	newer.Release()
	v.Release()
	f.c.o.MaxRows = 100
	if _, err := f.c.Put(ctx, "a", rowsOf(0, 2, 8, ints(1, 500)), ""); err != nil {
		t.Errorf("one more row: %v", err)
	}
	if _, err := f.c.Put(ctx, "a", rowsOf(0, 2, 8, ints(1, 501)), ""); kindOf(err) != problem.OverLimit {
		t.Errorf("too many rows: %v", err)
	}
}

// TestDamagedFolder: a folder that cannot be opened is a collection that failed, and is named.
func TestDamagedFolder(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "ip"}, ""))
	if _, err := f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(5)), ""); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.dir, "collections", f.files()[0])
	if err := folder.Check(ctx, path); err != nil {
		t.Error(err)
	}
	f.close()
	log := filepath.Join(path, "2.log")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	b[3]++
	if err := os.WriteFile(log, b, 0o644); err != nil {
		t.Fatal(err)
	}
	var damage *folder.DamageError
	if err := folder.Check(ctx, path); !errors.As(err, &damage) || damage.File != log {
		t.Error(err)
	}
	f.open()
	if i, err := f.c.Get("a"); err != nil || i.State != Failed || i.Failure == nil {
		t.Errorf("%+v, %v", i, err)
	}
	// it is in nobody's hands, so whoever copies the files copies it
	if done, err := f.c.CopyFolder(filepath.Base(path), filepath.Join(t.TempDir(), "copy")); done || err != nil {
		t.Error(done, err)
	}
}

// TestFolderBeyondTheBudget: a folder that finds no memory when it is loaded is a collection that failed, and does not keep backups from being made.
func TestFolderBeyondTheBudget(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "ip"}, ""))
	if _, err := f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(5)), ""); err != nil {
		t.Fatal(err)
	}
	name := f.files()[0]
	f.close()
	f.o.Memory = 10
	f.open()
	if i, err := f.c.Get("a"); err != nil || i.State != Failed {
		t.Errorf("%+v, %v", i, err)
	}
	if done, err := f.c.CopyFolder(name, filepath.Join(t.TempDir(), "copy")); done || err != nil {
		t.Error(done, err)
	}
}

// TestRefusedRowsMakeNoFolder: rows that a folder would refuse leave a collection that is a file as it is.
func TestRefusedRowsMakeNoFolder(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t), MaxRows: 11}), context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "ip"}, ""))
	memory := f.c.Memory()
	put := func(src Source, want problem.Kind) {
		t.Helper()
		if _, err := f.c.Put(ctx, "a", src, ""); kindOf(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
		if i, err := f.c.Get("a"); err != nil || i.Tag() != "1" || i.IDs != RowNumbers || f.c.Memory() != memory {
			t.Errorf("%+v, %v, memory %d of %d", i, err, f.c.Memory(), memory)
		}
	}
	put(Source{Rows64: []float64{1e37, 1, 1, 1}, Dim: 4, IDs: ints(5)}, problem.InvalidValue)
	put(rowsOf(0, 3, 4, ints(9, 10, 11)), problem.OverLimit)
	f.c.memory.most = memory + 1
	put(rowsOf(0, 1, 4, ints(5)), problem.OutOfMemory)
	f.c.memory.most = 0
	if i, err := f.c.Put(ctx, "a", rowsOf(0, 3, 4, ints(8, 9, 10)), ""); err != nil || i.Count != 11 {
		t.Errorf("%+v, %v", i, err)
	}
}
