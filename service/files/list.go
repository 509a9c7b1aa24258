package files

import (
	"go.etcd.io/bbolt"

	"thresher/service/problem"
	"thresher/store"
)

// List describes up to limit files, newest first, after the file with id after ("" is the
// start), of one purpose unless that is "", and of those that may be seen; nil sees all. more
// says that others follow.
func (s *Store) List(after string, limit int, purpose string, may func(File) bool) (list []File, more bool, err error) {
	list = []File{}
	err = s.db.View(func(tx *bbolt.Tx) error {
		var before []byte
		if after != "" {
			if f, err := getRecord(tx, after); err != nil || may != nil && !may(f) {
				return problem.New(problem.UnknownFile, "there is no file %q", after).In("after")
			}
			var err error
			if before, err = orderKey(tx, after); err != nil {
				return err
			}
		}
		for _, id := range store.Backward(bucket(tx, orderBucket), before) {
			f, err := getRecord(tx, string(id))
			if err != nil {
				return err
			}
			if purpose != "" && f.Purpose != purpose || may != nil && !may(f) {
				continue
			}
			if len(list) >= limit {
				more = true
				return nil
			}
			list = append(list, f)
		}
		return nil
	})
	return list, more, err
}
