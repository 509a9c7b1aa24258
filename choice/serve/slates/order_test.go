package slates

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
)

// TestDropComesLast: if the first step fails, nothing is deleted.
func TestDropComesLast(t *testing.T) {
	f := open(t, Options{})
	if _, err := f.tell(f.issue(films(1, 20), `{"users":["a"]}`)[0].ID, 1); err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	if err := f.Drop(t.Context(), "films", func() error { return full }); err != full {
		t.Error(err)
	}
	if i := f.info(); i.Users != 1 || i.Slates != 1 {
		t.Errorf("%+v", i)
	}
}

// TestKeyOutlivesTheSlates: a key whose slates exist but have expired gets new ones,
// repeatedly.
func TestKeyOutlivesTheSlates(t *testing.T) {
	now := &clock{time.Unix(1e9, 0)}
	f := open(t, Options{Now: now.Now})
	v := films(1, 20)
	before := ""
	for range 3 {
		for _, fresh := range []bool{true, false} {
			a, err := f.ask(v, `{"users":["a"],"k":2}`, "key")
			if err != nil {
				t.Fatal(err)
			}
			if id := a.Slates[0].ID; (id != before) != fresh {
				t.Errorf("slate %s after %s", id, before)
			}
			before = a.Slates[0].ID
		}
		now.now = now.now.Add(8 * 24 * time.Hour)
	}
}

// TestSettingsMeanwhile: if settings are put between choosing slates and recording them, the
// slates are chosen again under the new settings.
func TestSettingsMeanwhile(t *testing.T) {
	v := films(1, 20)
	body := ""
	var f *folder
	f = open(t, Options{step: func(step string) error {
		if put := body; put != "" && step == "commit" {
			body = ""
			_, err := f.put(v, put)
			return err
		}
		return nil
	}})
	for _, settings := range []string{`{"lambda":2}`, `{"lambda":2,"items":[{"id":7}]}`} {
		body = settings
		s := f.issue(v, `{"users":["a"],"k":2}`)[0]
		if listed := strings.Contains(settings, "items"); listed != (len(s.Items) == 1 && s.Items[0].ID.Int == 7) {
			t.Errorf("%s: %+v", settings, s.Items)
		}
		f.issue(v, `{"users":["a"],"k":2}`)
	}
	err := f.db.View(func(tx *bbolt.Tx) error {
		m, found, err := findRecords(tx, "films").model()
		if !found || m != (model{dim, 2}) {
			t.Errorf("%+v, %v", m, found)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// looked is a version that reports when its rows are read.
type looked struct {
	*shelf
	at func()
}

func (v *looked) Row(i int64) []float32 { v.at(); return v.shelf.Row(i) }

// TestOnePutAtATime: the items that settings are checked against are in memory once, however
// many requests there are.
func TestOnePutAtATime(t *testing.T) {
	f := open(t, Options{})
	taken := 0
	v := &looked{films(1, 20), func() { taken = len(f.putting) }}
	if _, err := f.put(v, `{}`); err != nil || taken != 1 || len(f.putting) != 0 {
		t.Errorf("%d, %v", taken, err)
	}
}

// TestFeedbackHoldsFewStates: of the states after the feedback for many slates of a user only
// those to be written are kept in memory.
func TestFeedbackHoldsFewStates(t *testing.T) {
	const slates, logged = 40, 7
	f := open(t, Options{Logged: logged})
	var all []Feedback
	for _, s := range f.issue(films(1, 20), fmt.Sprintf(`{"users":["a"%s],"k":1}`, strings.Repeat(`,"a"`, slates-1))) {
		all = append(all, Feedback{ID: s.ID, Rewards: []float64{1}})
	}
	planned := &taking{s: f.Store, name: "films", states: map[string]*state{}}
	if err := planned.plan(all); err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, c := range planned.changes {
		if c.after.estimator != nil {
			held++
		}
	}
	if held != slates/(logged+1) {
		t.Errorf("%d states are held", held)
	}
	if _, err := f.Store.Feedback(t.Context(), "films", all); err != nil {
		t.Fatal(err)
	}
	f.reopen()
	if st, err := f.state("films", "a", model{dim, 1}); err != nil || st.estimator.Observations() != slates {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestModelOfNobody: slates that have expired without feedback do not fix a model.
func TestModelOfNobody(t *testing.T) {
	now := &clock{time.Unix(1e9, 0)}
	f := open(t, Options{Now: now.Now})
	v := films(1, 20)
	f.issue(v, `{"users":["a"],"k":1}`)
	now.now = now.now.Add(6 * 24 * time.Hour)
	_, err := f.put(v, `{"lambda":2}`)
	wants(t, err, problem.Conflict, "lambda")
	now.now = now.now.Add(2 * 24 * time.Hour)
	if _, err := f.put(v, `{"lambda":2}`); err != nil {
		t.Fatal(err)
	}
	id := f.issue(v, `{"users":["a"],"k":1}`)[0].ID
	if _, err := f.tell(id, 1); err != nil {
		t.Fatal(err)
	}
	now.now = now.now.Add(30 * 24 * time.Hour)
	_, err = f.put(v, `{"lambda":3}`)
	wants(t, err, problem.Conflict, "lambda")
}
