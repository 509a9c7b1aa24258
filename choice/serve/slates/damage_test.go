package slates

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
	"thresher/store"
)

// TestDamageIsNamed changes a byte of every record in turn: requests that need it fail and
// name it, and the other user is not affected.
func TestDamageIsNamed(t *testing.T) {
	f := open(t, Options{Logged: 2})
	v := films(1, 40)
	var open []string
	for range 4 {
		for _, s := range f.issue(v, `{"users":["a","b"],"k":2}`) {
			if _, err := f.tell(s.ID, 1, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, s := range f.issue(v, `{"users":["a","b"],"k":2}`) {
		open = append(open, s.ID)
	}
	damage := func(bucket string, key []byte) (restore func()) {
		var before []byte
		set := func(change func([]byte) []byte) {
			err := f.db.Update(func(tx *bbolt.Tx) error {
				b := findRecords(tx, "films").Bucket
				if bucket != "" {
					b = b.Bucket([]byte(bucket))
				}
				before = slices.Clone(b.Get(key))
				if before == nil {
					t.Fatalf("no %s %q", bucket, key)
				}
				return b.Put(key, change(slices.Clone(before)))
			})
			if err != nil {
				t.Fatal(err)
			}
			f.reopen()
		}
		var whole []byte
		set(func(b []byte) []byte {
			whole = slices.Clone(b)
			b[len(b)/2] ^= 0x10
			return b
		})
		return func() { set(func([]byte) []byte { return whole }) }
	}
	ask := func(user string) error {
		_, err := f.ask(v, fmt.Sprintf(`{"users":[%q]}`, user), "")
		return err
	}
	for _, c := range []struct {
		name, bucket string
		key          []byte
		fails        func() error
		works        func() error
	}{
		{"the state of user \"a\"", statesBucket, []byte("a"), func() error { return ask("a") }, func() error { return ask("b") }},
		{"feedback 4 of user \"a\"", logsBucket, logKey("a", 4), func() error { return ask("a") }, func() error { return ask("b") }},
		{"slate " + open[0], slatesBucket, []byte(open[0]), func() error { _, err := f.tell(open[0], 1); return err }, func() error { return ask("a") }},
		{"model", "", []byte(modelRecord), func() error { return ask("a") }, func() error { return nil }},
	} {
		restore := damage(c.bucket, c.key)
		for range 2 { // the record is not removed
			err := c.fails()
			if err == nil || !strings.Contains(err.Error(), c.name) || problem.Of(err).Kind != problem.Internal {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if err := c.works(); err != nil {
			t.Errorf("%s is in the way of others: %v", c.name, err)
		}
		restore()
		if err := c.fails(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// A gap in a log is treated like a damaged record.
	b := f.issue(v, `{"users":["b"],"k":2}`)[0].ID
	if _, err := f.tell(b, 1); err != nil {
		t.Fatal(err)
	}
	if err := f.db.Update(func(tx *bbolt.Tx) error { return findRecords(tx, "films").sub(logsBucket).Delete(logKey("b", 4)) }); err != nil {
		t.Fatal(err)
	}
	f.reopen()
	if err := ask("b"); err == nil || !strings.Contains(err.Error(), `feedback 4 of user "b": it is missing`) {
		t.Error(err)
	}
}

// TestFullDisk: the error of a transaction is returned, and none of its changes is assumed.
func TestFullDisk(t *testing.T) {
	var fault error
	at := ""
	f := open(t, Options{step: func(step string) error {
		if step == at {
			return fault
		}
		return nil
	}})
	v := films(1, 40)
	for _, s := range f.issue(v, `{"users":["a","b"],"k":2}`) { // loads their states
		if _, err := f.tell(s.ID, 1); err != nil {
			t.Fatal(err)
		}
	}
	s := f.issue(v, `{"users":["a","b"],"k":2}`)
	fault = errors.New("broken")
	at = "commit" // nothing was written
	if _, err := f.tell(s[0].ID, 1); err != fault {
		t.Error(err)
	}
	if st, err := f.state("films", "a", model{dim, 1}); err != nil || st.seq != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	at = "committed" // the change is durable, but reported as failed
	if _, err := f.tell(s[1].ID, 1); err != fault {
		t.Error(err)
	}
	at = ""
	if st, err := f.state("films", "b", model{dim, 1}); err != nil || st.seq != 2 {
		t.Errorf("%+v, %v", st, err)
	}
	for i, fresh := range []bool{true, false} {
		if a, err := f.tell(s[i].ID, 1); err != nil || a.New != fresh || a.Observations != 2 {
			t.Errorf("%+v, %v", a, err)
		}
	}
}

// TestDamagedCounts: counts that are damaged are damage of the database, and are counted again when
// it is mended.
func TestDamagedCounts(t *testing.T) {
	f := open(t, Options{})
	v := films(1, 40)
	for _, s := range f.issue(v, `{"users":["a","b"],"k":2}`) {
		if _, err := f.tell(s.ID, 1); err != nil {
			t.Fatal(err)
		}
	}
	var want counts
	err := f.db.Update(func(tx *bbolt.Tx) (err error) {
		r := findRecords(tx, "films")
		if want, err = r.counts(); err != nil {
			return err
		}
		text := slices.Clone(r.Get([]byte(countsRecord)))
		text[1] ^= 1
		return r.Put([]byte(countsRecord), text)
	})
	path := f.db.Path()
	if err := errors.Join(err, f.Close()); err != nil || want.slates != 2 || want.users != 2 {
		t.Fatal(want, err)
	}
	var d *store.Damaged
	if _, err := Open(path, nil); !errors.As(err, &d) || !strings.Contains(d.Faults[0], `collections/films "counts"`) {
		t.Fatal(err)
	}
	if s, err := store.Mend(path, func(*store.Damaged) error { return nil }, CheckRecord); err != nil || len(s.Lost) != 1 {
		t.Fatal(s, err)
	}
	if err := Repair(path); err != nil {
		t.Fatal(err)
	}
	if f.Store, err = Open(path, nil); err != nil {
		t.Fatal(err)
	}
	err = f.db.View(func(tx *bbolt.Tx) error {
		got, err := findRecords(tx, "films").counts()
		if got != want {
			t.Errorf("%+v, it was %+v", got, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
