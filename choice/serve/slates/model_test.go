package slates

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"thresher/choice/slate"
	"thresher/service/problem"
)

// memory is a model of the store, kept in memory.
type memory struct {
	slates map[string]*dealt
	users  map[string]*slate.Estimator
}

// dealt is an issued slate.
type dealt struct {
	user    string
	list    []int
	rows    *shelf
	at      time.Time
	rewards []float64
	total   int64
}

// TestModel runs random operations with restarts in between, and compares answers and states
// with those of the model, bit for bit.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := &clock{time.Unix(1e9, 0)}
		f := open(t, Options{Now: now.Now, Keep: time.Hour, Logged: rapid.IntRange(1, 4).Draw(rt, "logged"), Memory: 60 * (40*dim + 8)})
		defer func() { f.Close() }() // the last of many stores
		m := &memory{map[string]*dealt{}, map[string]*slate.Estimator{}}
		var ids []string
		versions := []*shelf{films(1, 20), films(2, 25)}
		v := versions[0]
		rt.Repeat(map[string]func(*rapid.T){
			"recommend": func(rt *rapid.T) {
				users := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3).Draw(rt, "users")
				body := fmt.Sprintf(`{"users":["%s"],"k":%d}`, join(users), rapid.IntRange(1, 3).Draw(rt, "k"))
				for i, s := range f.issue(v, body) {
					d := &dealt{user: users[i], rows: v, at: now.now}
					for _, p := range s.Items {
						d.list = append(d.list, int(p.ID.Int))
					}
					m.slates[s.ID] = d
					ids = append(ids, s.ID)
				}
			},
			"feedback": func(rt *rapid.T) {
				if len(ids) == 0 {
					return
				}
				var all []Feedback
				for _, id := range rapid.SliceOfN(rapid.SampledFrom(ids), 1, 3).Draw(rt, "slates") {
					all = append(all, Feedback{ID: id, Rewards: rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.25, 1}), 1, 4).Draw(rt, "rewards")})
				}
				m.tell(rt, f, all, now.now)
			},
			"again": func(rt *rapid.T) {
				var all []Feedback
				for _, id := range ids {
					if d := m.slates[id]; d.rewards != nil {
						all = append(all, Feedback{ID: id, Rewards: d.rewards})
					}
				}
				if len(all) > 0 {
					m.tell(rt, f, rapid.SliceOfN(rapid.SampledFrom(all), 1, 2).Draw(rt, "feedback"), now.now)
				}
			},
			"time": func(rt *rapid.T) {
				now.now = now.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(rt, "minutes")) * time.Minute)
			},
			"version": func(rt *rapid.T) { v = rapid.SampledFrom(versions).Draw(rt, "version") },
			"reopen":  func(*rapid.T) { f.reopen() },
			"forget": func(rt *rapid.T) {
				if rapid.IntRange(0, 3).Draw(rt, "really") > 0 {
					return
				}
				user := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "user")
				if err := f.forget(t.Context(), user); err != nil {
					rt.Fatal(err)
				}
				delete(m.users, user)
				ids = slices.DeleteFunc(ids, func(id string) bool { return m.slates[id].user == user })
			},
			"drop": func(rt *rapid.T) {
				if rapid.IntRange(0, 9).Draw(rt, "really") > 0 {
					return
				}
				if err := f.Drop(t.Context(), "films", nil); err != nil {
					rt.Fatal(err)
				}
				clear(m.users)
				clear(m.slates)
				ids = nil
			},
			"": func(rt *rapid.T) { m.compare(rt, f) },
		})
	})
}

func join(users []string) string {
	text := users[0]
	for _, u := range users[1:] {
		text += `","` + u
	}
	return text
}

// tell gives feedback to the store and to the model.
func (m *memory) tell(rt *rapid.T, f *folder, all []Feedback, now time.Time) {
	want := problem.Kind("")
	planned := map[string][]float64{}
	for _, fb := range all {
		d := m.slates[fb.ID]
		before := d.rewards
		if planned[fb.ID] != nil {
			before = planned[fb.ID]
		}
		switch {
		case now.Sub(d.at) > time.Hour:
			want = UnknownSlate // all slates are looked up first
		case want != "":
		case len(fb.Rewards) > len(d.list):
			want = problem.OverLimit
		case before != nil && !slices.Equal(before, fb.Rewards):
			want = problem.Conflict
		}
		planned[fb.ID] = fb.Rewards
	}
	got, err := f.Store.Feedback(context.Background(), "films", all)
	if want != "" {
		if err == nil || problem.Of(err).Kind != want {
			rt.Fatalf("%v, want %s", err, want)
		}
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	for i, fb := range all {
		d := m.slates[fb.ID]
		fresh := d.rewards == nil
		if fresh {
			d.total = m.learn(rt, d, fb.Rewards)
		}
		if a := got[i]; a.ID != fb.ID || a.User.Name != d.user || a.Rewards != len(fb.Rewards) || a.Observations != d.total || a.New != fresh {
			rt.Fatalf("%+v of %+v", a, d)
		}
	}
}

// learn is the regression of package slate alone.
func (m *memory) learn(rt *rapid.T, d *dealt, rewards []float64) int64 {
	d.rewards = rewards
	e := m.users[d.user]
	if e == nil {
		var err error
		if e, err = slate.NewEstimator(dim, 1); err != nil {
			rt.Fatal(err)
		}
		m.users[d.user] = e
	}
	vectors, err := topics(d.rows)
	if err != nil {
		rt.Fatal(err)
	}
	o, err := slate.NewCoverage(d.rows.Len(), dim, vectors)
	if err != nil {
		rt.Fatal(err)
	}
	items, err := slate.NewItems(o, slate.Attributes{})
	if err != nil {
		rt.Fatal(err)
	}
	if err := e.Observe(items, d.list, rewards); err != nil {
		rt.Fatal(err)
	}
	return e.Observations()
}

// compare compares all states.
func (m *memory) compare(rt *rapid.T, f *folder) {
	for _, user := range []string{"a", "b", "c"} {
		st, err := f.state("films", user, model{dim, 1})
		if err != nil {
			rt.Fatal(err)
		}
		e := m.users[user]
		if e == nil {
			if st.seq != 0 {
				rt.Fatalf("%s is known", user)
			}
			continue
		}
		want, err := e.MarshalBinary()
		if err != nil {
			rt.Fatal(err)
		}
		got, err := st.estimator.MarshalBinary()
		if err != nil || !bytes.Equal(got, want) {
			rt.Fatalf("%s is known differently: %d observations, want %d, %v", user, st.estimator.Observations(), e.Observations(), err)
		}
	}
	if i := f.info(); i.Users != int64(len(m.users)) {
		rt.Fatalf("%d users, want %d", i.Users, len(m.users))
	}
}
