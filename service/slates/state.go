package slates

import (
	"fmt"

	"go.etcd.io/bbolt"

	"thresher/service/jsonbody"
	"thresher/slate"
)

// state is what is known of a user; it does not change.
type state struct {
	estimator *slate.Estimator
	seq       uint64 // of the last feedback
	logged    int    // feedbacks behind what was written last
}

// after is the state with the feedback of one more slate; rows are those of the items
// that have rewards. Of the others nothing was learnt, and what they add does not
// matter to those before them.
func (st *state) after(rows []float32, rewards []float64) (*state, error) {
	dim := st.estimator.Features()
	vectors := make([]float64, len(rows))
	for i, x := range rows {
		vectors[i] = float64(x)
	}
	gains, err := slate.NewCoverage(len(rewards), dim, vectors)
	if err != nil {
		return nil, err
	}
	items, err := slate.NewItems(gains, slate.Attributes{})
	if err != nil {
		return nil, err
	}
	list := make([]int, len(rewards))
	for i := range list {
		list[i] = i
	}
	next := &state{estimator: st.estimator.Clone(), seq: st.seq + 1, logged: st.logged + 1}
	return next, next.estimator.Observe(items, list, rewards)
}

// bytes is the memory that the state takes.
func (st *state) bytes() int64 { return int64(st.estimator.Bytes()) }

// state returns what is known of a user, from memory or the database; nothing is a state
// of the model that has seen nothing.
func (s *Store) state(name, user string, m model) (*state, error) {
	k := cacheKey{collection: name, user: user}
	if st, ok := s.cache.get(k); ok {
		return st.(*state), nil
	}
	stripe := s.stripe(name, user)
	seen := s.cache.seen(stripe)
	var st *state
	err := s.db.View(func(tx *bbolt.Tx) (err error) {
		st, err = find(tx, name).state(user, m)
		return err
	})
	if err != nil {
		return nil, err
	}
	if st.seq > 0 {
		s.cache.keep(k, st, st.bytes(), stripe, seen)
	}
	return st, nil
}

// state reads a user's state: what was written last, and the log behind it.
func (r *records) state(user string, m model) (*state, error) {
	estimator, err := slate.NewEstimator(m.dim, m.lambda)
	if err != nil {
		return nil, err
	}
	st := &state{estimator: estimator}
	if r == nil {
		return st, nil
	}
	if text := r.sub(statesBucket).Get([]byte(user)); text != nil {
		what := fmt.Sprintf("the state of user %q", jsonbody.Clip(user))
		var k savedState
		if err := k.decode([]byte(user), text); err != nil {
			return nil, r.damaged(what, err)
		}
		if err := estimator.UnmarshalBinary(k.state); err != nil {
			return nil, r.damaged(what, err)
		}
		if d := estimator.Features(); d != m.dim {
			return nil, r.damaged(what, fmt.Errorf("it has %d dimensions, the model has %d", d, m.dim))
		}
		st.seq = k.seq
	}
	err = r.logOf(user, st.seq, func(seq uint64, _ []byte, f *feedback) error {
		if len(f.rows) < len(f.rewards)*m.dim {
			return r.damaged(fmt.Sprintf("feedback %d of user %q", seq, jsonbody.Clip(user)), fmt.Errorf("%d values for %d rewards", len(f.rows), len(f.rewards)))
		}
		next, err := st.after(f.rows, f.rewards)
		if err != nil {
			return r.damaged(fmt.Sprintf("feedback %d of user %q", seq, jsonbody.Clip(user)), err)
		}
		st = next
		return nil
	})
	return st, err
}

// setState records feedback: in the log or, every so often, as the state after it.
func (r *records) setState(user string, f *feedback, after *state) error {
	key := logKey(user, after.seq)
	if r.sub(logsBucket).Get(key) != nil {
		return r.damaged(fmt.Sprintf("feedback %d of user %q", after.seq, jsonbody.Clip(user)), fmt.Errorf("it is there already"))
	}
	if after.logged == 0 {
		return r.write(user, after)
	}
	return r.sub(logsBucket).Put(key, f.encode(key))
}

// write records a state, which the log before it goes into.
func (r *records) write(user string, st *state) error {
	text, err := st.estimator.MarshalBinary()
	if err != nil {
		return err
	}
	k := savedState{seq: st.seq, state: text}
	if err := r.sub(statesBucket).Put([]byte(user), k.encode([]byte(user))); err != nil {
		return err
	}
	_, err = r.dropLog(user)
	return err
}
