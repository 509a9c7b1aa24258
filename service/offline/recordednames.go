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
	for rec, err := range eachRecord(tx) {
		if err != nil {
			all = true
			continue
		}
		unfinished[rec.Batch.ID] = !rec.Batch.Status.Final()
	}
	return func(name string) bool {
		id, noted := strings.CutSuffix(name, noteSuffix)
		if !strings.HasPrefix(id, idPrefix) {
			return false
		}
		goesOn, ok := unfinished[id]
		return all || ok && (noted || goesOn)
	}, nil
}
