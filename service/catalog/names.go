package catalog

import (
	"crypto/rand"
	"encoding/hex"
	"regexp"

	"thresher/service/problem"
)

const namePattern = `[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}`

// checkName says whether a collection can have a name.
func checkName(name string) error {
	if len(name) > 64 || !regexp.MustCompile("^"+namePattern+"$").MatchString(name) {
		return problem.New(problem.InvalidValue, "%q is no name of a collection", clip(name)).In("name").Within("^" + namePattern + "$")
	}
	return nil
}

// newBase is what the names of a version's files begin with.
func newBase(name string) string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return name + "-" + hex.EncodeToString(b)
}

// ours recognises names that begin with a base, also those that collection.Create
// has files under on their way.
func ours() *regexp.Regexp {
	return regexp.MustCompile(`^\.?` + namePattern + `-[0-9a-f]{16}\.`)
}

func unknown(name string) error {
	return problem.New(problem.UnknownCollection, "there is no collection %q", clip(name)).In("name")
}
