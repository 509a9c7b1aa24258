package slates

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"thresher/choice/serve/choiceapi"
	"thresher/choice/slate"
	"thresher/service/problem"
	"thresher/store"
)

// Answer has a slate for each user of a request, in the request's order.
type Answer struct {
	choiceapi.Recommended
	Evaluations int `json:"-"` // number of scored items
}

// maxValues bounds the vectors stored for one request's slates: 64 MiB.
const maxValues = 1 << 24

// Recommend issues a slate to each user of a request; the slates are durable on return. key,
// if not "", is the idempotency key: the same request, by its fingerprint, gets the same
// slates as long as they are remembered. The caller holds the collection, of which v is a
// version.
func (s *Store) Recommend(ctx context.Context, name string, v Version, req *Request, key, fingerprint string) (*Answer, error) {
	for {
		a, err := s.recommend(ctx, name, v, req, key, fingerprint)
		if !errors.Is(err, errSettings) {
			return a, err
		}
	}
}

// errSettings says that the settings changed before the slates were recorded.
var errSettings = errors.New("the settings have changed in the meantime")

func (s *Store) recommend(ctx context.Context, name string, v Version, req *Request, key, fingerprint string) (*Answer, error) {
	if a, err := s.earlier(name, key, fingerprint); a != nil || err != nil {
		return a, err
	}
	if n := len(req.Users) * req.K * v.Dim(); n > maxValues {
		return nil, problem.New(problem.OverLimit, "%d users with k = %d and %d dimensions make %d values to store, a request may have at most %d", len(req.Users), req.K, v.Dim(), n, maxValues).
			In("users").Within(maxValues)
	}
	p, err := s.prepare(ctx, name, v)
	if err != nil {
		return nil, err
	}
	m := model{v.Dim(), p.settings.Lambda}
	since := s.o.Now().Add(-s.o.Keep)
	if err := s.db.View(func(tx *bbolt.Tx) error { return findRecords(tx, name).admits(m, since) }); err != nil {
		return nil, err
	}
	from, c, err := p.constrain(req)
	if err != nil {
		return nil, err
	}
	users, err := s.states(ctx, name, req.Users, m)
	if err != nil {
		return nil, err
	}
	many, err := from.many()
	if err != nil {
		return nil, err
	}
	o := options(p.settings, req)
	o.Memory = s.o.scratch
	chosen, err := many.Recommend(ctx, c, users, o)
	if err != nil {
		return nil, tooLong(err)
	}
	a := &Answer{Recommended: choiceapi.Recommended{Version: p.version, Excluded: p.excluding(c)}}
	issued := s.issue(a, p, v, req, chosen)
	return s.record(name, p, m, a, issued, key, fingerprint)
}

// tooLong returns the problem of slates that need too much memory.
func tooLong(err error) error {
	scratch := (*slate.ScratchError)(nil)
	if !errors.As(err, &scratch) {
		return err
	}
	return problem.New(problem.OutOfMemory, "slates of up to %d of %d items need %d bytes of memory to choose, %d are available; use a smaller k",
		scratch.Length, scratch.Items, scratch.Need, scratch.Memory).In("k").Within(scratch.Memory).Because(err)
}

// states returns the states of users, in order.
func (s *Store) states(ctx context.Context, name string, users []ID, m model) ([]*slate.Estimator, error) {
	all := make([]*slate.Estimator, len(users))
	for i, u := range users {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		st, err := s.state(name, u.String(), m)
		if err != nil {
			return nil, err
		}
		all[i] = st.estimator
	}
	return all, nil
}

// options returns the options of a request.
func options(s *Settings, req *Request) slate.Options {
	return slate.Options{
		Algorithm:  Algorithm(req.Algorithm).algorithm(),
		Confidence: slate.Confidence{Rule: slate.Rule(s.Rule), Delta: req.Delta, Noise: s.Noise, Norm: s.Bound},
		Epsilon:    req.Epsilon,
	}
}

func (a Algorithm) algorithm() slate.Algorithm {
	switch a {
	case LSB:
		return slate.LSBGreedy
	case Modified:
		return slate.ModifiedGreedy
	}
	return slate.AFSM
}

// issue fills in an answer with slates, and returns their records.
func (s *Store) issue(a *Answer, p *prepared, v Version, req *Request, chosen []slate.Slate) []*issuedSlate {
	now := s.o.Now()
	all := make([]*issuedSlate, len(chosen))
	a.Slates = make([]Slate, len(chosen))
	for i := range chosen {
		c := &chosen[i]
		a.Evaluations += c.Evaluations
		h := &issuedSlate{user: req.Users[i], version: p.version, at: now, algo: Algorithm(req.Algorithm), picks: []Pick{}, ucb: c.UCB, rho: c.Rho, alpha: c.Alpha}
		for _, pick := range c.Picks {
			h.picks = append(h.picks, Pick{ID: p.id(pick.Item), Mean: pick.Mean, Width: pick.Width, Value: pick.Value})
			h.rows = append(h.rows, v.Row(int64(pick.Item))...)
		}
		a.Slates[i] = h.slate(newSlateID(now))
		all[i] = h
	}
	return all
}

// slate returns h in the format of an answer.
func (h *issuedSlate) slate(id string) Slate {
	return Slate{User: h.user, ID: id, Items: h.picks, UCB: h.ucb, Rho: h.rho, Alpha: h.alpha}
}

// admits refuses a model that differs from the model of the existing states, or of slates
// issued after since that may still get feedback.
func (r *records) admits(m model, since time.Time) error {
	if r == nil {
		return nil
	}
	have, found, err := r.model()
	if err != nil || !found || have == m {
		return err
	}
	c, err := r.counts()
	if err != nil {
		return err
	}
	last, _ := r.sub(slatesBucket).Cursor().Last()
	if c.users == 0 && string(last) < slateTime(since) {
		return nil
	}
	return conflict(r.name, have, m)
}

// remembered is the value of an idempotency key.
type remembered struct {
	Version  int64      `json:"version"`
	Excluded *Excluding `json:"excluded,omitempty"`
	Slates   []string   `json:"slates"`
}

// record makes slates durable, unless the key has slates already or the settings have changed
// since the slates were chosen.
func (s *Store) record(name string, p *prepared, m model, a *Answer, all []*issuedSlate, key, fingerprint string) (*Answer, error) {
	now := s.o.Now()
	keep := remembered{Version: a.Version, Excluded: a.Excluded}
	for i := range a.Slates {
		keep.Slates = append(keep.Slates, a.Slates[i].ID)
	}
	value, err := json.Marshal(keep)
	if err != nil {
		return nil, err
	}
	var out *Answer
	err = s.change(func(tx *bbolt.Tx) error {
		r, err := create(tx, name)
		if err != nil {
			return err
		}
		if out, err = r.earlier(key, fingerprint, now, s.o.Keep); out != nil || err != nil {
			return err
		}
		if r.Sequence() != p.generation {
			return errSettings
		}
		if err := r.admits(m, now.Add(-s.o.Keep)); err != nil {
			return err
		}
		if err := r.setModel(m); err != nil {
			return err
		}
		for i, h := range all {
			if err := r.setSlate(a.Slates[i].ID, h); err != nil {
				return err
			}
		}
		if err := r.forget(len(all), now.Add(-s.o.Keep), s.o.Slates); err != nil {
			return err
		}
		return store.PutKey(r.sub(keysBucket), key, fingerprint, value, now)
	})
	if err != nil {
		return nil, err
	}
	if out != nil {
		return out, nil
	}
	return a, nil
}

// forget counts new slates and removes old ones: more than have come, in order to catch up,
// but few enough not to delay the request.
func (r *records) forget(fresh int, since time.Time, most int) error {
	n, err := r.counts()
	if err != nil {
		return err
	}
	n.slates += int64(fresh)
	expired := slateTime(since)
	var old [][]byte
	c := r.sub(slatesBucket).Cursor()
	for k, _ := c.First(); k != nil && len(old) < min(int(n.slates)-fresh, 2*fresh+16); k, _ = c.Next() {
		if string(k) >= expired && n.slates-int64(len(old)) <= int64(most) {
			break
		}
		old = append(old, slices.Clone(k))
	}
	for _, k := range old {
		if err := r.sub(slatesBucket).Delete(k); err != nil {
			return err
		}
	}
	n.slates -= int64(len(old))
	return r.setCounts(n)
}

// earlier returns the slates of a key; nil if it has none, or none any more.
func (s *Store) earlier(name, key, fingerprint string) (a *Answer, err error) {
	if key == "" {
		return nil, nil
	}
	err = s.db.View(func(tx *bbolt.Tx) error {
		a, err = findRecords(tx, name).earlier(key, fingerprint, s.o.Now(), s.o.Keep)
		return err
	})
	return a, err
}

// earlier returns the slates of a key that are not older than most now; nil if it has none.
func (r *records) earlier(key, fingerprint string, now time.Time, most time.Duration) (*Answer, error) {
	if r == nil {
		return nil, nil
	}
	value, found, err := store.FindKey(r.sub(keysBucket), key, fingerprint, now)
	if err != nil || !found {
		return nil, err
	}
	var keep remembered
	if err := json.Unmarshal(value, &keep); err != nil {
		return nil, r.damaged("an idempotency key", err)
	}
	a := &Answer{Recommended: choiceapi.Recommended{Version: keep.Version, Excluded: keep.Excluded}}
	for _, id := range keep.Slates {
		h, err := r.slate(id, now.Add(-most))
		switch {
		case err != nil && problem.Of(err).Kind == UnknownSlate:
			return nil, nil
		case err != nil:
			return nil, err
		}
		a.Slates = append(a.Slates, h.slate(id))
	}
	return a, nil
}
