package slates

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
)

// Info describes the slates of a collection, which may have settings, as a JSON object:
// "object", which is "slates"; the members of [Settings]; "users", the number of states; and
// "slates", the number of remembered slates. The text of the settings is copied once and not
// decoded.
func (s *Store) Info(name string) (text []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		r := findRecords(tx, name)
		var c counts
		text = append(text, `{"object":"slates",`...)
		found := false
		if r != nil {
			if c, err = r.counts(); err != nil {
				return err
			}
			err := r.read(settingsRecord, &found, func(in *reader) {
				if object := in.bytes(in.length(1)); len(object) > 2 { // read reports an error if it is not an object
					text = slices.Grow(text, len(object)+64)
					text = append(text, object[1:len(object)-1]...)
				}
			})
			if err != nil {
				return err
			}
		}
		if !found {
			defaults, err := r.settings()
			if err != nil {
				return err
			}
			object, err := json.Marshal(defaults)
			if err != nil {
				return err
			}
			text = append(text, object[1:len(object)-1]...)
		}
		text = fmt.Appendf(text, `,"users":%d,"slates":%d}`, c.users, c.slates)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return text, nil
}

// InfoBytes returns about the length of Info.
func (s *Store) InfoBytes(name string) (n int64, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		if r := findRecords(tx, name); r != nil {
			n = int64(len(r.Get([]byte(settingsRecord))))
		}
		return nil
	})
	return n, err
}

// Put checks settings against a version of a collection, which the caller holds, and uses
// them from then on. Checks are serialised. It returns Info.
func (s *Store) Put(ctx context.Context, name string, v Version, settings *Settings) (info []byte, err error) {
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
		if err := r.admits(model{v.Dim(), settings.Lambda}, s.o.Now().Add(-s.o.Keep)); err != nil {
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
	return s.Info(name)
}

// check prepares the items of a version under settings, and discards them.
func (s *Store) check(ctx context.Context, name string, v Version, settings *Settings) error {
	if _, err := rowsOf(settings, v.IDs(), false); err != nil {
		return err
	}
	if err := acquire(ctx, s.putting); err != nil {
		return err
	}
	defer func() { <-s.putting }()
	_, err := s.makePrepared(name, v, settings)
	return err
}
