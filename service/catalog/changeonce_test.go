package catalog

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"thresher/columns"
	"thresher/dataset"
	"thresher/service/problem"
	"thresher/store"
)

// TestKeyOfConcurrentChangesByRows: of requests under one key that come together one is done, and all get its answer.
func TestKeyOfConcurrentChangesByRows(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t), Patience: 1 << 40}), context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "ip"}, ""))
	writes := uint64(0)
	for _, test := range []struct {
		key string
		do  func() (Info, error)
	}{
		{"put", func() (Info, error) { return f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(5)), "put") }},
		{"append", func() (Info, error) { return f.c.Append(ctx, "a", rowsOf(0, 300, 4, nil), "append") }},
		{"remove", func() (Info, error) { return f.c.Remove(ctx, "a", *ints(7), "remove") }},
	} {
		writes++
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if i, err := test.do(); err != nil || i.Writes == nil || *i.Writes != writes {
					t.Errorf("%s: %+v, %v", test.key, i, err)
				}
			})
		}
		all.Wait()
	}
	if i, err := f.c.Get("a"); err != nil || *i.Writes != writes || i.Count != 309 {
		t.Errorf("%+v, %v", i, err)
	}
}

// lateBody is a body that does something before it is read.
type lateBody struct {
	do   func()
	rest io.Reader
}

func (m *lateBody) Read(b []byte) (int, error) {
	if m.do != nil {
		m.do()
		m.do = nil
	}
	return m.rest.Read(b)
}

// TestReplacedWhileRowsArrive: rows that arrive for a version which was replaced or deleted meanwhile, or is being replaced, are refused and change nothing.
func TestReplacedWhileRowsArrive(t *testing.T) {
	f := newFolder(t, Options{Place: placer(t)})
	one := uint64(1)
	replace := func(ctx context.Context) (Info, error) {
		return f.c.Create(ctx, "a", rowsOf(0, 5, 4, nil), CreateOptions{Metric: "ip", Replace: true}, "")
	}
	for what, test := range map[string]struct {
		on   context.Context
		do   func(context.Context)
		kind problem.Kind
		left int64 // rows of the collection afterwards
	}{
		"replaced":                {context.Background(), func(ctx context.Context) { f.ready(replace(ctx)) }, problem.Conflict, 5},
		"replaced on a condition": {OnlyOn(context.Background(), 2, &one), func(ctx context.Context) { f.ready(replace(ctx)) }, problem.Conflict, 5},
		"deleted": {context.Background(), func(context.Context) {
			if err := f.c.Delete("a"); err != nil {
				t.Error(err)
			}
		}, problem.UnknownCollection, 0},
	} {
		for verb, change := range map[string]func(context.Context, string, Source, string) (Info, error){"put": f.c.Put, "append": f.c.Append} {
			f.ready(f.c.Create(context.Background(), "a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "ip"}, ""))
			i, err := f.c.Put(context.Background(), "a", rowsOf(0, 1, 4, ints(5)), "")
			if err != nil {
				t.Fatal(err)
			}
			ctx := test.on
			if wanted(ctx).version != 0 {
				ctx = OnlyOn(ctx, i.Version, i.Writes)
			}
			body := &lateBody{func() { test.do(ctx) }, strings.NewReader("id,a,b,c,d\n77,1,2,3,4\n")}
			_, err = change(ctx, "a", Source{Body: body, Format: dataset.CSV, IDColumn: "id"}, "")
			if kindOf(err) != test.kind {
				t.Errorf("%s, %s: %v", what, verb, err)
			}
			now, err := f.c.Get("a")
			if now.Count != test.left || now.Writes != nil || (err == nil) != (test.left > 0) {
				t.Errorf("%s, %s: %+v, %v", what, verb, now, err)
			}
			if test.left > 0 {
				if err := f.c.Delete("a"); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestReplaceOnlyWhatIsKnown: a version that is to replace a state of the collection does not replace rows that were written after it.
func TestReplaceOnlyWhatIsKnown(t *testing.T) {
	f, ctx, one := newFolder(t, Options{Place: placer(t)}), context.Background(), uint64(1)
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "ip"}, ""))
	put := func() {
		if _, err := f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(50)), ""); err != nil {
			t.Error(err)
		}
	}
	put()
	body := &lateBody{put, strings.NewReader("a,b,c,d\n1,2,3,4\n")}
	if _, err := f.c.Create(OnlyOn(ctx, 2, &one), "a", Source{Body: body, Format: dataset.CSV}, CreateOptions{Metric: "ip", Replace: true}, ""); kindOf(err) != problem.Conflict {
		t.Error(err)
	}
	if i, err := f.c.Get("a"); err != nil || i.Tag() != "2-2" || i.Next != 0 {
		t.Errorf("%+v, %v", i, err)
	}
}

// TestKeyOfBothForms: a request that made a version is the same request once the collection changes by rows.
func TestKeyOfBothForms(t *testing.T) {
	f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "ip"}, ""))
	place := f.c.o.Place
	f.c.o.Place = nil // so that versions are built
	f.ready(f.c.Append(ctx, "a", rowsOf(0, 1, 4, nil), "rows"))
	f.ready(f.c.Append(ctx, "a", rowsOf(0, 1, 4, ints(77)), "ids"))
	f.c.o.Place = place
	if _, err := f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(5)), ""); err != nil {
		t.Fatal(err)
	}
	for key, ids := range map[string]*Keys{"rows": nil, "ids": ints(77)} {
		if _, err := f.c.Append(ctx, "a", rowsOf(0, 1, 4, ids), key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if i, err := f.c.Get("a"); err != nil || i.Tag() != "4-1" || i.Count != 12 {
		t.Errorf("%+v, %v", i, err)
	}
}

// TestKeysOfChangesByRows: a change by rows that is repeated under its key has the answer of the first and changes nothing, whatever came between: a
// restart, the end of its log, another version; until the key is old.
func TestKeysOfChangesByRows(t *testing.T) {
	now := time.Now()
	f, ctx := newFolder(t, Options{Place: placer(t), Now: func() time.Time { return now }}), context.Background()
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "ip"}, ""))
	where, err := columns.ParseJSON([]byte(`{"must": [{"has_id": [4]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	steps := []func() (Info, error){
		func() (Info, error) { return f.c.Append(ctx, "a", rowsOf(0, 3, 4, nil), "append") },
		func() (Info, error) { return f.c.Put(ctx, "a", rowsOf(0, 2, 4, ints(5, 50)), "put") },
		func() (Info, error) { return f.c.Remove(ctx, "a", *ints(7, 50), "remove") },
		func() (Info, error) { return f.c.RemoveWhere(ctx, "a", where, "has 4", "where") },
		func() (Info, error) { return f.c.RemoveWhere(ctx, "a", where, "has 4", "where, of none") },
	}
	var first []Info
	for n, step := range steps {
		i, err := step()
		if err != nil || i.Tag() != fmt.Sprint("2-", n+1) || i.Change == nil {
			t.Fatalf("step %d: %+v, %v", n, i, err)
		}
		if now, err := f.c.Get("a"); err != nil || i.Count != now.Count {
			t.Errorf("step %d: %+v, and it is %+v, %v", n, i, now, err)
		}
		first = append(first, i)
	}
	if c := first[1].Change; c.Written != 2 || c.Replaced != 1 || first[2].Change.Deleted != 2 || first[3].Change.Deleted != 1 || first[4].Change.Deleted != 0 {
		t.Errorf("%+v", first)
	}
	same := func(after string) {
		t.Helper()
		before, _ := f.c.Get("a")
		for n, step := range steps {
			i, err := step()
			if d := cmp.Diff(first[n], i); err != nil || d != "" {
				t.Errorf("after %s, step %d: %v %s", after, n, err, d)
			}
		}
		if i, _ := f.c.Get("a"); i.Tag() != before.Tag() || i.Count != before.Count {
			t.Errorf("after %s: %+v has become %+v", after, before, i)
		}
	}
	recorded := func() (n int) {
		if err := f.db.View(func(tx *bbolt.Tx) error { n = bucket(tx, keysBucket).Stats().KeyN / 2; return nil }); err != nil {
			t.Error(err)
		}
		return n
	}
	same("nothing")
	f.close()
	f.open()
	same("a restart")
	if n := recorded(); n != 0 {
		t.Errorf("%d keys are in the database, and their log is there", n)
	}
	if _, err := f.c.Append(ctx, "a", rowsOf(0, 4, 4, nil), "append"); kindOf(err) != problem.KeyReused {
		t.Error(err)
	}
	many := rowsOf(0, 5000, 4, nil)
	if _, err := f.c.Append(ctx, "a", many, "many"); err != nil {
		t.Fatal(err)
	}
	if err := f.c.folderNow("a").Maintain(ctx); err != nil {
		t.Fatal(err)
	}
	if n := recorded(); n != len(steps)+1 || len(f.c.loggedKeys("a")) != 0 {
		t.Errorf("%d keys are in the database after their log", n)
	}
	same("a seal")
	steps, first = append(steps, func() (Info, error) { return f.c.Put(ctx, "a", rowsOf(0, 1, 4, ints(9)), "last") }), append(first, f.ready(f.c.Get("a")))
	if first[5], err = steps[5](); err != nil {
		t.Fatal(err)
	}
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 10, 4, nil), CreateOptions{Metric: "ip", Replace: true}, ""))
	same("another version")
	f.close()
	f.open()
	same("another version and a restart")
	now = now.Add(store.KeepKeys + time.Minute)
	if i, err := steps[0](); err != nil || i.Count != 13 || i.Tag() == first[0].Tag() {
		t.Errorf("%+v, %v", i, err)
	}
	now = now.Add(store.KeepKeys + time.Minute)
	f.close()
	f.open()
	if i, err := steps[0](); err != nil || i.Count != 16 {
		t.Errorf("%+v, %v", i, err)
	}
	if err := f.c.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if i, err := steps[0](); err != nil || i.Count != 16 {
		t.Errorf("the answer outlives what it names: %+v, %v", i, err)
	}
}
