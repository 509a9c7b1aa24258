package slates

import (
	"fmt"

	"go.etcd.io/bbolt"

	"thresher/choice/slate"
	"thresher/service/jsonbody"
)

// state is the immutable state of a user.
type state struct {
	estimator *slate.Estimator
	seq       uint64 // of the last feedback
	logged    int    // number of feedbacks since the state was last written
}

// after returns the state with the feedback of one more slate; rows are those of the items
// with rewards. The other items were not examined and do not affect the earlier ones.
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

// state returns the state of a user, from memory or the database; for an unknown user it is
// the initial state of the model.
func (s *Store) state(name, user string, m model) (*state, error) {
	k := cacheKey{collection: name, user: user}
	if st, ok := s.cache.get(k); ok {
		return st.(*state), nil
	}
	stripe := s.stripe(name, user)
	seen := s.cache.seen(stripe)
	var st *state
	err := s.db.View(func(tx *bbolt.Tx) (err error) {
		st, err = findRecords(tx, name).state(user, m)
		return err
	})
	if err != nil {
		return nil, err
	}
	if st.seq > 0 {
		s.cache.insertUnchanged(k, st, st.bytes(), stripe, seen)
	}
	return st, nil
}

// state loads a user's state: the last one written, and the log after it.
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

// setState records feedback: in the log or, periodically, as the state after it.
func (r *records) setState(user string, f *feedback, after *state) error {
	key := logKey(user, after.seq)
	if r.sub(logsBucket).Get(key) != nil {
		return r.damaged(fmt.Sprintf("feedback %d of user %q", after.seq, jsonbody.Clip(user)), fmt.Errorf("it is there already"))
	}
	if after.logged == 0 {
		return r.writeState(user, after)
	}
	return r.sub(logsBucket).Put(key, f.encode(key))
}

// writeState records a state and deletes the log that it includes.
func (r *records) writeState(user string, st *state) error {
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
