package slates

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// forget is Forget for users whose ids are strings.
func (f *folder) forget(ctx context.Context, users ...string) error {
	var ids []ID
	for _, u := range users {
		ids = append(ids, ID{Name: u, Text: true})
	}
	defer f.held("films")()
	return f.Forget(ctx, "films", ids)
}

// TestForget: forgotten users leave nothing in memory or in the database, and others keep
// everything; afterwards a forgotten user is a new one.
func TestForget(t *testing.T) {
	f := open(t, Options{Logged: 2})
	v := films(1, 20)
	if err := f.forget(t.Context(), "a"); err != nil {
		t.Fatal("nobody:", err)
	}
	var first []string // a slate of each user without feedback
	want := map[string][]byte{}
	for _, u := range []string{"a", "aa", "7", "c"} {
		for n := range 4 { // some in the state, some in the log
			if _, err := f.tell(f.issue(v, fmt.Sprintf(`{"users":[%q],"k":3}`, u))[0].ID, float64(n)/4, 1); err != nil {
				t.Fatal(err)
			}
		}
		if u == "c" { // has only a log
			if err := f.forget(t.Context(), "c"); err != nil {
				t.Fatal(err)
			}
			if _, err := f.tell(f.issue(v, `{"users":["c"],"k":3}`)[0].ID, 1); err != nil {
				t.Fatal(err)
			}
		}
		first = append(first, f.issue(v, fmt.Sprintf(`{"users":[%q]}`, u))[0].ID)
		want[u] = f.bytesOf(t, u)
	}
	a, err := f.ask(v, `{"users":["c","a"],"k":1}`, "key")
	if err != nil {
		t.Fatal(err)
	}
	if i := f.info(); i.Users != 4 || i.Slates != 3*5+2+2 {
		t.Fatalf("%+v", i)
	}
	if err := f.forget(t.Context(), "a", "c", "7", "a", "nobody"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if i := f.info(); i.Users != 1 || i.Slates != 5 {
			t.Errorf("%+v", i)
		}
		for i, u := range []string{"a", "aa", "7", "c"} {
			if u == "aa" {
				if got := f.bytesOf(t, u); string(got) != string(want[u]) {
					t.Errorf("%s is known differently", u)
				}
				continue
			}
			if st, err := f.state("films", u, model{dim, 1}); err != nil || st.seq != 0 || st.estimator.Observations() != 0 {
				t.Errorf("%s is known: %+v, %v", u, st, err)
			}
			_, err := f.tell(first[i], 1)
			wants(t, err, UnknownSlate, "slate_id")
		}
		f.reopen()
	}
	again, err := f.ask(v, `{"users":["c","a"],"k":1}`, "key")
	if err != nil || again.Slates[0].ID == a.Slates[0].ID {
		t.Errorf("under its key: %+v, %v", again, err)
	}
	if got, err := f.tell(again.Slates[1].ID, 1); err != nil || got.Observations != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := f.tell(first[1], 1); err != nil {
		t.Error(err)
	}
	if i := f.info(); i.Users != 2 {
		t.Errorf("%+v", i)
	}
}

// TestForgetAmongMany: slates are found among more than one transaction inspects, and damaged
// ones are removed with the user that they name.
func TestForgetAmongMany(t *testing.T) {
	f := open(t, Options{})
	v := films(1, 20)
	f.issue(v, `{"users":["a"],"k":1}`)
	var text []byte
	err := f.db.Update(func(tx *bbolt.Tx) error {
		r := findRecords(tx, "films")
		_, first := r.sub(slatesBucket).Cursor().First()
		text = append(text, first...)
		text[len(text)-1] ^= 1
		for n := range 2*seenAtOnce + 7 {
			h := &issuedSlate{user: ID{Name: "b", Text: true}, picks: []Pick{}}
			if n%1000 == 999 {
				h.user.Name = "a"
			}
			id := fmt.Sprintf("slate-%016x", n)
			if err := r.setSlate(id, h); err != nil {
				return err
			}
		}
		if err := r.sub(slatesBucket).Put([]byte("slate-damaged"), text); err != nil {
			return err
		}
		return r.setCounts(counts{slates: 2*seenAtOnce + 9})
	})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.forget(ended, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := f.forget(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	left := 0
	err = f.db.View(func(tx *bbolt.Tx) error {
		return findRecords(tx, "films").sub(slatesBucket).ForEach(func(k, text []byte) error {
			left++
			if u := (&reader{b: text[1:]}).id(); u.Name != "b" {
				t.Errorf("%s is of %v", k, u)
			}
			return nil
		})
	})
	if err != nil || left != 2*seenAtOnce+7-8 || f.info().Slates != int64(left) {
		t.Errorf("%d slates are left, %+v, %v", left, f.info(), err)
	}
}

// TestForgetThatFails: only the database knows whether a transaction that failed in its last
// step was executed.
func TestForgetThatFails(t *testing.T) {
	left := -1 // transactions until one fails
	late := errors.New("late")
	f := open(t, Options{step: func(step string) error {
		if step == "committed" {
			if left--; left == 0 {
				return late
			}
		}
		return nil
	}})
	if _, err := f.tell(f.issue(films(1, 20), `{"users":["a"]}`)[0].ID, 1); err != nil {
		t.Fatal(err)
	}
	left = 2
	if err := f.forget(t.Context(), "a"); !errors.Is(err, late) {
		t.Fatal(err)
	}
	if st, err := f.state("films", "a", model{dim, 1}); err != nil || st.seq != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestInfoMakesNothingOfSettings: a description of slates costs one copy of the settings.
func TestInfoMakesNothingOfSettings(t *testing.T) {
	f := open(t, Options{})
	n := 2000
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(`{"id":%d,"costs":[1,2,3],"groups":["a","b"]}`, i))
	}
	put, err := f.put(films(1, n), `{"lambda":2,"items":[`+strings.Join(items, ",")+`]}`)
	if err != nil || len(put.Items) != n || put.Lambda != 2 || put.Object != "slates" {
		t.Fatalf("%d items, %v", len(put.Items), err)
	}
	size, err := f.InfoBytes("films")
	if err != nil || size < int64(40*n) || size > int64(60*n) {
		t.Errorf("%d bytes, %v", size, err)
	}
	if allocated := testing.AllocsPerRun(10, func() {
		if _, err := f.Info("films"); err != nil {
			t.Error(err)
		}
	}); allocated > 100 {
		t.Errorf("%v allocations", allocated)
	}
	if size, err := f.InfoBytes("none"); size != 0 || err != nil {
		t.Errorf("%d, %v", size, err)
	}
}
