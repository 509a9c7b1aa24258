package offline

import (
	"strings"

	"go.etcd.io/bbolt"
)

// ProgressName is the file in the folder of an unfinished batch that says how far it has come.
const ProgressName = "progress"

// Known returns which names in the folder are notes of batches that the records of tx describe, and
// folders of those that are unfinished. If a record cannot be read, those of all batches are known.
func Known(tx *bbolt.Tx) (known func(name string) bool, err error) {
	unfinished, all := map[string]bool{}, false // by id
	if records := sequence(tx).Records; records != nil {
		err = records.ForEach(func(_, text []byte) error {
			rec, err := decodeRecord(text)
			if err != nil {
				all = true
				return nil
			}
			unfinished[rec.Batch.ID] = !rec.Batch.Status.Final()
			return nil
		})
	}
	return func(name string) bool {
		id, noted := strings.CutSuffix(name, noteSuffix)
		if !strings.HasPrefix(id, idPrefix) {
			return false
		}
		goesOn, ok := unfinished[id]
		return all || ok && (noted || goesOn)
	}, err
}
