package catalog

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/service/problem"
)

// modelVersion is the expected content of a version: ids, and the first value of each row.
type modelVersion struct {
	ids    []int64
	values []float32
	next   int64 // an integer that was never an id
	kind   Kind
}

func (m *modelVersion) clone() *modelVersion {
	return &modelVersion{slices.Clone(m.ids), slices.Clone(m.values), m.next, m.kind}
}

// model is a catalog without a disk.
type model struct {
	newest  map[string]int64 // the version that answers
	last    map[string]int64 // the last number used
	all     map[ref]*modelVersion
	pins    map[string][]ref
	uses    map[*Version]ref
	retired map[ref]bool
}

// keep drops versions that are neither newest, pinned nor in use.
func (m *model) keep() {
	for r := range m.retired {
		used := false
		for _, pinned := range m.pins {
			used = used || slices.Contains(pinned, r)
		}
		for _, u := range m.uses {
			used = used || u == r
		}
		if !used {
			delete(m.all, r)
			delete(m.retired, r)
		}
	}
}

func (m *model) install(name string, v *modelVersion) ref {
	if old, ok := m.newest[name]; ok {
		m.retired[ref{name, old}] = true
	}
	m.last[name]++
	r := ref{name, m.last[name]}
	m.newest[name], m.all[r] = r.version, v
	m.keep()
	return r
}

// TestAgainstModel runs random operations and compares everything observable with the model
// after every step.
func TestAgainstModel(t *testing.T) {
	open := processor(t)
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		f := newFolder(t, Options{Open: open})
		m := &model{newest: map[string]int64{}, last: map[string]int64{}, all: map[ref]*modelVersion{}, pins: map[string][]ref{},
			uses: map[*Version]ref{}, retired: map[ref]bool{}}
		defer func() {
			for v := range m.uses {
				v.Release()
			}
			f.close()
		}()
		value := float32(0)
		rows := func(n int) (Source, []float32) {
			src := Source{Dim: 2}
			var values []float32
			for range n {
				value++
				values = append(values, value)
				src.Rows = append(src.Rows, value, 1)
			}
			return src, values
		}
		name := rapid.SampledFrom([]string{"a", "b"})
		// some sources have ids, others do not
		source := func(rt *rapid.T, taken []int64) (Source, []int64, []float32) {
			n := rapid.IntRange(1, 4).Draw(rt, "rows")
			src, values := rows(n)
			if rapid.Bool().Draw(rt, "without ids") {
				return src, nil, values
			}
			free := rapid.Int64Range(0, 35).Filter(func(id int64) bool { return !slices.Contains(taken, id) })
			ids := rapid.SliceOfNDistinct(free, n, n, rapid.ID[int64]).Draw(rt, "ids")
			src.IDs = &Keys{Ints: ids}
			return src, ids, values
		}
		done := func(i Info, err error, v *modelVersion) {
			rt.Helper()
			if err != nil {
				rt.Fatal(err)
			}
			if i, err = f.c.Wait(ctx, i.Name, i.Version); err != nil || i.State != Ready {
				rt.Fatalf("%+v, %v", i, err)
			}
			if r := m.install(i.Name, v); r.version != i.Version {
				rt.Fatalf("version %d, want %d", i.Version, r.version)
			}
		}
		add := func(v *modelVersion, ids []int64, values []float32) {
			for n, value := range values {
				id := v.next
				if ids != nil {
					id, v.kind = ids[n], Integers
				}
				v.ids, v.values, v.next = append(v.ids, id), append(v.values, value), max(v.next, id+1)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"create": func(rt *rapid.T) {
				n := name.Draw(rt, "name")
				src, ids, values := source(rt, nil)
				replace := rapid.Bool().Draw(rt, "replace")
				i, err := f.c.Create(ctx, n, src, CreateOptions{Metric: "ip", Replace: replace}, "")
				if _, there := m.newest[n]; there && !replace {
					if kindOf(err) != problem.NameTaken {
						rt.Fatal(err)
					}
					return
				}
				v := &modelVersion{kind: RowNumbers}
				add(v, ids, values)
				done(i, err, v)
			},
			"append": func(rt *rapid.T) {
				n := name.Draw(rt, "name")
				old, there := m.all[ref{n, m.newest[n]}]
				if !there {
					old = &modelVersion{}
				}
				src, ids, values := source(rt, old.ids)
				i, err := f.c.Append(ctx, n, src, "")
				if !there {
					if kindOf(err) != problem.UnknownCollection {
						rt.Fatal(err)
					}
					return
				}
				v := old.clone()
				if v.kind == RowNumbers && ids != nil {
					v.kind = Integers
				}
				add(v, ids, values)
				done(i, err, v)
			},
			"remove": func(rt *rapid.T) {
				n := name.Draw(rt, "name")
				old, there := m.all[ref{n, m.newest[n]}]
				if !there || len(old.ids) < 2 {
					rt.Skip()
				}
				ids := rapid.SliceOfN(rapid.SampledFrom(old.ids), 1, len(old.ids)-1).Draw(rt, "ids")
				v := &modelVersion{next: old.next, kind: Integers}
				for r, id := range old.ids {
					if !slices.Contains(ids, id) {
						v.ids, v.values = append(v.ids, id), append(v.values, old.values[r])
					}
				}
				i, err := f.c.Remove(ctx, n, Keys{Ints: ids}, "")
				done(i, err, v)
			},
			"delete": func(rt *rapid.T) {
				n := name.Draw(rt, "name")
				err := f.c.Delete(n)
				version, there := m.newest[n]
				if !there {
					if kindOf(err) != problem.UnknownCollection {
						rt.Fatal(err)
					}
					return
				}
				if err != nil {
					rt.Fatal(err)
				}
				m.retired[ref{n, version}] = true
				delete(m.newest, n)
				m.keep()
			},
			"use": func(rt *rapid.T) {
				if len(m.all) == 0 {
					rt.Skip()
				}
				r := rapid.SampledFrom(m.known()).Draw(rt, "version")
				v, err := f.c.Use(r.name, r.version)
				if err != nil {
					rt.Fatal(err)
				}
				m.uses[v] = r
			},
			"release": func(rt *rapid.T) {
				if len(m.uses) == 0 {
					rt.Skip()
				}
				r := rapid.SampledFrom(inOrder(maps.Values(m.uses))).Draw(rt, "version")
				for v, of := range m.uses {
					if of == r {
						v.Release()
						delete(m.uses, v)
						break
					}
				}
				m.keep()
			},
			"pin": func(rt *rapid.T) {
				if len(m.all) == 0 {
					rt.Skip()
				}
				r := rapid.SampledFrom(m.known()).Draw(rt, "version")
				owner := rapid.SampledFrom([]string{"o", "p"}).Draw(rt, "owner")
				if err := f.c.Pin(r.name, r.version, owner); err != nil {
					rt.Fatal(err)
				}
				if !slices.Contains(m.pins[owner], r) {
					m.pins[owner] = append(m.pins[owner], r)
				}
			},
			"unpin": func(rt *rapid.T) {
				owner := rapid.SampledFrom([]string{"o", "p"}).Draw(rt, "owner")
				if err := f.c.Unpin(owner); err != nil {
					rt.Fatal(err)
				}
				delete(m.pins, owner)
				m.keep()
			},
			"reopen": func(rt *rapid.T) {
				for v := range m.uses {
					v.Release()
					delete(m.uses, v)
				}
				m.keep()
				f.close()
				f.open()
			},
			"": func(rt *rapid.T) { m.check(rt, f) },
		})
	})
}

// known returns the versions that can be used, in order.
func (m *model) known() []ref {
	return inOrder(maps.Keys(m.all))
}

// inOrder sorts versions, by name and number: an order for draws that does not change.
func inOrder(all iter.Seq[ref]) []ref {
	return slices.SortedFunc(all, func(a, b ref) int {
		return slices.Compare([]int64{int64(a.name[0]), a.version}, []int64{int64(b.name[0]), b.version})
	})
}

// check compares all versions, and the files in the folder.
func (m *model) check(t *rapid.T, f *fixture) {
	files := 0
	for r, want := range m.all {
		v, err := f.c.Use(r.name, r.version)
		if err != nil {
			t.Fatalf("%v: %v", r, err)
		}
		got := &modelVersion{next: v.o.change.NextID, kind: v.IDs().Kind()}
		for row := range int64(v.Len()) {
			got.ids, got.values = append(got.ids, v.IDs().Int(row)), append(got.values, v.Row(row)[0])
		}
		v.Release()
		if d := cmp.Diff(want, got, cmp.AllowUnexported(modelVersion{})); d != "" {
			t.Fatalf("%v: %s", r, d)
		}
		if files++; want.kind != RowNumbers {
			files++
		}
	}
	if got := f.files(); len(got) != files {
		t.Fatalf("%d files are needed: %v", files, got)
	}
	names := map[string]int64{}
	for _, i := range f.c.List() {
		names[i.Name] = i.Version
	}
	if d := cmp.Diff(m.newest, names); d != "" {
		t.Fatal(d)
	}
	if len(f.c.versions) != len(m.all) {
		t.Fatal(fmt.Sprint(f.c.versions))
	}
}
