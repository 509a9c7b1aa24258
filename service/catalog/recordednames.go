package catalog

import (
	"go.etcd.io/bbolt"
)

// Known returns which names in the folder are files of versions that the records of tx describe:
// current ones, those being built, and replaced ones that are pinned. Incomplete files are not. If a
// record cannot be read, the files of all versions are known.
func Known(tx *bbolt.Tx) (known func(name string) bool, err error) {
	bases, all := map[string]bool{}, false
	for n, err := range eachNamed(tx) {
		all = all || err != nil
		for _, ch := range []*change{n.Ready, n.Next, n.Failed} {
			if ch != nil {
				bases[ch.Base] = true
			}
		}
	}
	for v, err := range eachRetired(tx) {
		all = all || err != nil
		bases[v.Base] = true
	}
	version := versionFile()
	return func(name string) bool {
		parts := version.FindStringSubmatch(name)
		return parts != nil && (all || bases[parts[1]])
	}, nil
}
