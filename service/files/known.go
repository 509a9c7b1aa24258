package files

import (
	"strings"

	"go.etcd.io/bbolt"
)

// Known returns which names in the folder are contents and notes of files that the records of tx
// describe. If a record cannot be read, those of all files are known.
func Known(tx *bbolt.Tx) (known func(name string) bool, err error) {
	ids, all := map[string]bool{}, false
	if b := bucket(tx, recordsBucket); b != nil {
		err = b.ForEach(func(id, text []byte) error {
			_, err := decode(string(id), text)
			all = all || err != nil
			ids[string(id)] = true
			return nil
		})
	}
	return func(name string) bool {
		id := strings.TrimSuffix(strings.TrimSuffix(name, aboutSuffix), deletedSuffix)
		return strings.HasPrefix(id, idPrefix) && (all || ids[id])
	}, err
}
