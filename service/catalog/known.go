package catalog

import (
	"go.etcd.io/bbolt"

	"thresher/store"
)

// Known returns which names in the folder are files of versions that the records of tx describe:
// current ones, those being built, and replaced ones that are pinned. Incomplete files are not. If a
// record cannot be read, the files of all versions are known.
func Known(tx *bbolt.Tx) (known func(name string) bool, err error) {
	bases, all := map[string]bool{}, false
	if b := bucket(tx, namesBucket); b != nil {
		err = b.ForEach(func(name, _ []byte) error {
			rec, _, err := getRecord(tx, string(name))
			all = all || err != nil
			for _, ch := range []*change{rec.Ready, rec.Next, rec.Failed} {
				if ch != nil {
					bases[ch.Base] = true
				}
			}
			return nil
		})
	}
	if b := bucket(tx, retiredBucket); err == nil && b != nil {
		err = b.ForEach(func(key, text []byte) error {
			var ch change
			all = store.ReadJSON("a version", text, &ch) != nil || all
			bases[ch.Base] = true
			return nil
		})
	}
	version := versionFile()
	return func(name string) bool {
		parts := version.FindStringSubmatch(name)
		return parts != nil && (all || bases[parts[1]])
	}, err
}
