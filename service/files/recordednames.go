package files

import (
	"strings"

	"go.etcd.io/bbolt"
)

// Known returns which names in the folder are contents and notes of files that the records of tx
// describe. If a record cannot be read, those of all files are known.
func Known(tx *bbolt.Tx) (known func(name string) bool, err error) {
	ids, all := map[string]bool{}, false
	for r, err := range eachRecord(tx) {
		all = all || err != nil
		ids[r.ID] = true
	}
	return func(name string) bool {
		id := strings.TrimSuffix(strings.TrimSuffix(name, aboutSuffix), deletedSuffix)
		return strings.HasPrefix(id, idPrefix) && (all || ids[id])
	}, nil
}
