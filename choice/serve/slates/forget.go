package slates

import (
	"bytes"
	"context"
	"slices"

	"go.etcd.io/bbolt"

	"thresher/service/jsonbody"
	"thresher/service/problem"
)

// DecodeUsers reads a body that lists users. Errors are of type *problem.Problem.
func DecodeUsers(body []byte, l Limits) ([]ID, error) {
	var users []ID
	if err := jsonbody.Decode(body, jsonbody.Members{"users": usersMember(&users, l)}); err != nil {
		return nil, err
	}
	if len(users) == 0 {
		return nil, problem.New(problem.InvalidValue, "users is empty").In("users")
	}
	return users, nil
}

// usersMember reads a list of users.
func usersMember(dst *[]ID, l Limits) jsonbody.Reader {
	return jsonbody.Array("users", l.Users, func(b []byte, i int) (int, error) {
		u, next, err := user(b, i)
		*dst = append(*dst, u)
		return next, err
	})
}

// seenAtOnce is the number of slates that Forget inspects or removes in one transaction.
const seenAtOnce = 4096

// Forget deletes everything about users, as if they had never existed: their states, and the
// slates issued to them, whose feedback is then unknown. It is durable on return; if it is
// interrupted, a part is deleted, and it can be repeated. Unknown users are not an error. The
// caller holds the collection.
func (s *Store) Forget(ctx context.Context, name string, users []ID) error {
	keys := make([]string, len(users))
	gone := make(map[string]bool, len(users))
	for i, u := range users {
		keys[i] = u.String()
		gone[keys[i]] = true
	}
	unlock, err := s.lock(ctx, name, keys) // feedback waits, and then finds no slate
	if err != nil {
		return err
	}
	defer unlock()
	for from := []byte{}; from != nil; {
		if err := ctx.Err(); err != nil {
			return err
		}
		ids, next, err := s.slatesOf(name, gone, from)
		if err != nil {
			return err
		}
		if len(ids) > 0 {
			if err := s.change(func(tx *bbolt.Tx) error { return findRecords(tx, name).dropSlates(ids) }); err != nil {
				return err
			}
		}
		from = next
	}
	defer func() { // also after a failure: only the database knows what was executed
		for user := range gone {
			s.cache.change(cacheKey{collection: name, user: user}, nil, 0, s.stripe(name, user))
		}
	}()
	return s.change(func(tx *bbolt.Tx) error { return findRecords(tx, name).dropUsers(gone) })
}

// slatesOf finds slates issued to some users, among the next ones from a key on; next is the
// key to continue at, nil at the end.
func (s *Store) slatesOf(name string, users map[string]bool, from []byte) (ids [][]byte, next []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		r := findRecords(tx, name)
		if r == nil {
			return nil
		}
		c := r.sub(slatesBucket).Cursor()
		k, text := c.Seek(from)
		for range seenAtOnce {
			if k == nil {
				return nil
			}
			// A damaged slate is removed with the user that it names.
			if h := (&reader{b: text[min(1, len(text)):]}).id(); users[h.String()] {
				ids = append(ids, slices.Clone(k))
			}
			k, text = c.Next()
		}
		next = slices.Clone(k)
		return nil
	})
	return ids, next, err
}

// dropSlates removes slates, some of which may be gone already.
func (r *records) dropSlates(ids [][]byte) error {
	if r == nil {
		return nil
	}
	n, err := r.counts()
	if err != nil {
		return err
	}
	all := r.sub(slatesBucket)
	for _, id := range ids {
		if all.Get(id) == nil {
			continue
		}
		if err := all.Delete(id); err != nil {
			return err
		}
		n.slates--
	}
	return r.setCounts(n)
}

// dropUsers removes the states of users.
func (r *records) dropUsers(users map[string]bool) error {
	if r == nil {
		return nil
	}
	n, err := r.counts()
	if err != nil {
		return err
	}
	for user := range users {
		state := r.sub(statesBucket).Get([]byte(user)) != nil
		if err := r.sub(statesBucket).Delete([]byte(user)); err != nil {
			return err
		}
		logged, err := r.dropLog(user)
		if err != nil {
			return err
		}
		if state || logged > 0 {
			n.users--
		}
	}
	return r.setCounts(n)
}

// dropLog removes the log of a user and returns the number of its records.
func (r *records) dropLog(user string) (int, error) {
	var old [][]byte
	prefix := appendText(nil, user)
	c := r.sub(logsBucket).Cursor()
	for key, _ := c.Seek(prefix); len(key) == len(prefix)+8 && bytes.HasPrefix(key, prefix); key, _ = c.Next() {
		old = append(old, slices.Clone(key))
	}
	for _, key := range old {
		if err := r.sub(logsBucket).Delete(key); err != nil {
			return 0, err
		}
	}
	return len(old), nil
}
