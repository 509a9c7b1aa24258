package slates

import (
	"context"
	"encoding/json"

	"go.etcd.io/bbolt"
)

// Info describes the slates of a collection.
type Info struct {
	Object string `json:"object"` // "slates"
	*Settings
	// Users is how many have a state, Slates how many slates are remembered.
	Users  int64 `json:"users"`
	Slates int64 `json:"slates"`
}

// Get describes the slates of a collection, with settings or without. The collection is
// held.
func (s *Store) Get(name string) (*Info, error) {
	info := &Info{Object: "slates"}
	err := s.db.View(func(tx *bbolt.Tx) (err error) {
		r := find(tx, name)
		if info.Settings, err = r.settings(); err != nil || r == nil {
			return err
		}
		c, err := r.counts()
		info.Users, info.Slates = c.users, c.slates
		return err
	})
	if err != nil {
		return nil, err
	}
	return info, nil
}

// Put checks settings against a version of a collection, which is held, and has slates
// be made by them from now on. One at a time is checked.
func (s *Store) Put(ctx context.Context, name string, v Version, settings *Settings) (*Info, error) {
	if err := s.check(ctx, name, v, settings); err != nil {
		return nil, err
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	err = s.change(func(tx *bbolt.Tx) error {
		r, err := create(tx, name)
		if err != nil {
			return err
		}
		if err := r.admits(model{v.Dim(), settings.Lambda}); err != nil {
			return err
		}
		if _, err := r.NextSequence(); err != nil {
			return err
		}
		return r.setSettings(text)
	})
	if err != nil {
		return nil, err
	}
	return s.Get(name)
}

// check prepares the items of a version under settings, and keeps nothing of it.
func (s *Store) check(ctx context.Context, name string, v Version, settings *Settings) error {
	if _, err := settings.rows(v.IDs(), false); err != nil {
		return err
	}
	select {
	case s.putting <- struct{}{}:
		defer func() { <-s.putting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := s.make(name, v, settings)
	return err
}
