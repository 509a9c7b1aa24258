package catalog

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"thresher/dataset"
	"thresher/service/problem"
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
