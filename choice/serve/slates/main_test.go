package slates

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"thresher/internal/crashtest"
	_ "thresher/internal/draws"
	"thresher/service/catalog"
	"thresher/service/problem"
)

func TestMain(m *testing.M) {
	crashtest.Main(childhood)
	goleak.VerifyTestMain(m)
}

const dim = 4

// shelf is a version of a collection in memory.
type shelf struct {
	number int64
	writes uint64
	dim    int
	rows   []float32
	names  []string // nil means row numbers
}

func (v *shelf) Number() int64         { return v.number }
func (v *shelf) Writes() uint64        { return v.writes }
func (v *shelf) Len() int              { return len(v.rows) / v.dim }
func (v *shelf) Dim() int              { return v.dim }
func (v *shelf) Row(i int64) []float32 { return v.rows[i*int64(v.dim) : (i+1)*int64(v.dim)] }
func (v *shelf) IDs() IDs              { return v }
func (v *shelf) Int(row int64) int64   { return row }
func (v *shelf) Kind() catalog.Kind {
	if v.names != nil {
		return catalog.Strings
	}
	return catalog.RowNumbers
}

func (v *shelf) Name(row int64) string {
	if v.names != nil {
		return v.names[row]
	}
	return fmt.Sprint(row)
}

func (v *shelf) Rows(keys *catalog.Keys, field string) ([]int64, error) {
	var rows []int64
	for i, id := range keys.Ints {
		if id < 0 || id >= int64(v.Len()) {
			return nil, problem.New(problem.UnknownID, "no atom has the id %d", id).At(field, i)
		}
		rows = append(rows, id)
	}
	for i, name := range keys.Names {
		row := int64(-1)
		for at, other := range v.names {
			if other == name {
				row = int64(at)
			}
		}
		if row < 0 {
			return nil, problem.New(problem.UnknownID, "no atom has the id %q", name).At(field, i)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// films returns n items, each with some topics.
func films(seed uint64, n int) *shelf {
	r := rand.New(rand.NewPCG(11, seed))
	v := &shelf{number: int64(seed), dim: dim}
	for range n * dim {
		x := r.Float32() * 0.1
		if r.IntN(3) == 0 {
			x = 0.5 + 0.4*r.Float32()
		}
		v.rows = append(v.rows, x)
	}
	return v
}

// clock is a clock set by the test.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// folder holds a store that can be reopened.
type folder struct {
	t    testing.TB
	path string
	o    Options
	*Store
}

func open(t testing.TB, o Options) *folder {
	t.Helper()
	o.noSync = true
	f := &folder{t: t, path: filepath.Join(t.TempDir(), "slates.db"), o: o}
	f.reopen()
	t.Cleanup(func() { f.Store.Close() })
	return f
}

// reopen closes the store, if there is one, and opens it.
func (f *folder) reopen() {
	f.t.Helper()
	if f.Store != nil {
		if err := f.Close(); err != nil {
			f.t.Fatal(err)
		}
	}
	var err error
	if f.Store, err = Open(f.path, &f.o); err != nil {
		f.t.Fatal(err)
	}
}

// ask calls Recommend with a body.
func (f *folder) ask(v Version, body, key string) (*Answer, error) {
	f.t.Helper()
	req, err := DecodeRequest([]byte(body), Limits{})
	if err != nil {
		return nil, err
	}
	defer f.held("films")()
	return f.Recommend(context.Background(), "films", v, req, key, body)
}

// held calls Hold, which must succeed.
func (f *folder) held(name string) (release func()) {
	f.t.Helper()
	release, err := f.Hold(context.Background(), name)
	if err != nil {
		f.t.Fatal(err)
	}
	return release
}

// issue calls ask, which must succeed.
func (f *folder) issue(v Version, body string) []Slate {
	f.t.Helper()
	a, err := f.ask(v, body, "")
	if err != nil {
		f.t.Fatal(err)
	}
	return a.Slates
}

// tell calls Feedback for one slate.
func (f *folder) tell(id string, rewards ...float64) (Accepted, error) {
	defer f.held("films")()
	all, err := f.Store.Feedback(context.Background(), "films", []Feedback{{ID: id, Rewards: rewards}})
	if err != nil {
		return Accepted{}, err
	}
	return all[0], nil
}

// put calls Put with a body.
func (f *folder) put(v Version, body string) (described, error) {
	s, err := DecodeSettings([]byte(body), 0)
	if err != nil {
		return described{}, err
	}
	defer f.held("films")()
	return described{}.of(f.Put(context.Background(), "films", v, s))
}

// described is the decoded Info.
type described struct {
	Object        string
	Lambda        float64
	Items         []Item
	Users, Slates int64
}

func (d described) of(text []byte, err error) (described, error) {
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	return d, err
}

func (f *folder) info() described {
	f.t.Helper()
	info, err := described{}.of(f.Info("films"))
	if err != nil {
		f.t.Fatal(err)
	}
	return info
}

// wants fails the test unless err is a problem of a kind about a field.
func wants(t testing.TB, err error, kind problem.Kind, field string) {
	t.Helper()
	if p := problem.Of(err); err == nil || p.Kind != kind || p.Field != field {
		t.Errorf("%v is %+v, want %s of %s", err, p, kind, field)
	}
}
