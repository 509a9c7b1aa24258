package files

import (
	"go.etcd.io/bbolt"

	"thresher/service/problem"
)

// List describes up to limit files, newest first, from the one behind after on, "" being
// the start; of one purpose unless that is "". more says that others follow.
func (s *Store) List(after string, limit int, purpose string) (list []File, more bool, err error) {
	list = []File{}
	err = s.db.View(func(tx *bbolt.Tx) error {
		c := bucket(tx, orderBucket).Cursor()
		k, id := c.Last()
		if after != "" {
			if _, err := get(tx, after); err != nil {
				return problem.New(problem.UnknownFile, "there is no file %q to go on behind", after).In("after")
			}
			at, err := place(tx, after)
			if err != nil {
				return err
			}
			c.Seek(at)
			k, id = c.Prev()
		}
		for ; k != nil; k, id = c.Prev() {
			f, err := get(tx, string(id))
			if err != nil {
				return err
			}
			if purpose != "" && f.Purpose != purpose {
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
