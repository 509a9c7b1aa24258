package slates

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"thresher/choice/serve/choiceapi"
	"thresher/service/jsonbody"
	"thresher/service/problem"
)

// Accepted acknowledges the feedback for one slate; repeated feedback gets the same answer.
type Accepted struct {
	choiceapi.SlateAccepted
	New bool    `json:"-"` // false for repeated feedback
	Sum float64 `json:"-"` // of the rewards
}

// Feedback accepts feedback for slates: all of it, durably, or none if any of it is invalid.
// Rewards that were given before are accepted again, different ones for the same slate are a
// conflict. It waits for concurrent feedback of the same users until ctx ends. The caller
// holds the collection.
func (s *Store) Feedback(ctx context.Context, name string, all []Feedback) ([]Accepted, error) {
	since := s.o.Now().Add(-s.o.Keep)
	users, err := s.usersOf(name, all, since)
	if err != nil {
		return nil, err
	}
	unlock, err := s.lock(ctx, name, users)
	if err != nil {
		return nil, err
	}
	defer unlock()
	t := &taking{s: s, name: name, since: since, states: map[string]*state{}}
	if err := t.plan(all); err != nil {
		return nil, err
	}
	if len(t.changes) > 0 {
		if err := s.change(t.record); err != nil {
			t.forget()
			return nil, err
		}
		t.remember()
	}
	return t.accepted, nil
}

// usersOf returns the users of slates.
func (s *Store) usersOf(name string, all []Feedback, since time.Time) (users []string, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		r := findRecords(tx, name)
		for i := range all {
			h, err := r.slate(all[i].ID, since)
			if err != nil {
				return s.about(all, i, err)
			}
			users = append(users, h.user.String())
		}
		return nil
	})
	return users, err
}

// about names the feedback that an error concerns, if there are several.
func (s *Store) about(all []Feedback, i int, err error) error {
	if len(all) == 1 {
		return err
	}
	return jsonbody.Element(err, "feedback", i)
}

// lock serialises the feedback of users.
func (s *Store) lock(ctx context.Context, name string, users []string) (unlock func(), err error) {
	var all []int
	for _, u := range users {
		all = append(all, s.stripe(name, u))
	}
	slices.Sort(all) // prevents deadlock
	all = slices.Compact(all)
	n := 0
	unlock = func() {
		for _, i := range all[:n] {
			<-s.users[i]
		}
	}
	for _, i := range all {
		if err := acquire(ctx, s.users[i]); err != nil {
			unlock()
			return nil, err
		}
		n++
	}
	return unlock, nil
}

// taking is feedback being accepted, whose users are locked.
type taking struct {
	s        *Store
	name     string
	since    time.Time
	model    model
	states   map[string]*state // by user, after the planned changes
	changes  []change
	accepted []Accepted
}

// change is the effect of one feedback.
type change struct {
	slate  string
	issued *issuedSlate
	log    feedback
	user   string
	after  *state // without estimator if the log is written
}

// plan determines the effects of feedback, or what is invalid.
func (t *taking) plan(all []Feedback) error {
	planned := map[string]*issuedSlate{}
	for i := range all {
		f := &all[i]
		h := planned[f.ID]
		if h == nil {
			err := t.s.db.View(func(tx *bbolt.Tx) (err error) {
				r := findRecords(tx, t.name)
				if h, err = r.slate(f.ID, t.since); err == nil {
					t.model, _, err = r.model()
				}
				return err
			})
			if err != nil {
				return t.s.about(all, i, err)
			}
			planned[f.ID] = h
		}
		if err := h.check(f); err != nil {
			return t.s.about(all, i, err)
		}
		fresh := h.rewards == nil
		if fresh {
			if err := t.learn(f, h); err != nil {
				return err
			}
		}
		a := Accepted{SlateAccepted: choiceapi.SlateAccepted{ID: f.ID, User: h.user, Rewards: len(h.rewards), Observations: h.observations}, New: fresh}
		for _, x := range h.rewards {
			a.Sum += x
		}
		t.accepted = append(t.accepted, a)
	}
	return nil
}

// check checks feedback against its slate.
func (h *issuedSlate) check(f *Feedback) error {
	if m := len(h.picks); len(f.Rewards) > m {
		return problem.New(problem.OverLimit, "rewards has %d values, the slate has %d items", len(f.Rewards), m).In("rewards").Within(m)
	}
	if h.rewards != nil && !slices.Equal(h.rewards, f.Rewards) {
		return problem.New(problem.Conflict, "slate %s already has different rewards", f.ID).In("rewards")
	}
	return nil
}

// learn plans the effect of feedback.
func (t *taking) learn(f *Feedback, h *issuedSlate) error {
	user := h.user.String()
	st := t.states[user]
	if st == nil {
		var err error
		if st, err = t.s.state(t.name, user, t.model); err != nil {
			return err
		}
	}
	if len(h.rows) != len(h.picks)*t.model.dim {
		return fmt.Errorf("slates of collection %s: record of slate %s: %d values for %d items", t.name, f.ID, len(h.rows), len(h.picks))
	}
	log := feedback{slate: f.ID, rows: h.rows[:len(f.Rewards)*t.model.dim], rewards: f.Rewards}
	after, err := st.after(log.rows, log.rewards)
	if err != nil {
		return err
	}
	h.rewards, h.rows, h.observations = f.Rewards, nil, int64(after.estimator.Observations())
	if after.logged > t.s.o.Logged {
		after.logged = 0
	}
	t.states[user] = after
	if after.logged > 0 { // of many states of one user only few are written, so the others are not kept
		after = &state{seq: after.seq, logged: after.logged}
	}
	t.changes = append(t.changes, change{f.ID, h, log, user, after})
	return nil
}

// record is the transaction; it may be retried.
func (t *taking) record(tx *bbolt.Tx) error {
	r := findRecords(tx, t.name)
	c, err := r.counts()
	if err != nil {
		return err
	}
	for i := range t.changes {
		ch := &t.changes[i]
		if _, err := r.slate(ch.slate, t.since); err != nil {
			return err // removed in the meantime
		}
		if err := r.setSlate(ch.slate, ch.issued); err != nil {
			return err
		}
		if err := r.setState(ch.user, &ch.log, ch.after); err != nil {
			return err
		}
		if ch.after.seq == 1 {
			c.users++
		}
	}
	return r.setCounts(c)
}

// remember caches the new states.
func (t *taking) remember() {
	for user, st := range t.states {
		t.s.cache.change(cacheKey{collection: t.name, user: user}, st, st.bytes(), t.s.stripe(t.name, user))
	}
}

// forget removes states from the cache, because only the database knows whether a transaction
// that failed in its last step was executed.
func (t *taking) forget() {
	for user := range t.states {
		t.s.cache.change(cacheKey{collection: t.name, user: user}, nil, 0, t.s.stripe(t.name, user))
	}
}
