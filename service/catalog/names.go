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

// versionFile takes the name of a version's file apart: base and what follows. Its own name
// begins the base.
func versionFile() *regexp.Regexp {
	return regexp.MustCompile(`^((` + namePattern + `)-[0-9a-f]{16})(\..+)$`)
}

// temporaryFile recognises the names of files on their way, which hold what nobody was
// told is there: uploads, notes and collections that are not complete.
func temporaryFile() *regexp.Regexp {
	return regexp.MustCompile(`^(\.new-` + namePattern + `-[0-9a-f]{16}\..+|\.` + namePattern + `-[0-9a-f]{16}\..+\.new(-[0-9a-z]+)?)$`)
}

// arriving begins the name of a file that belongs to a change that is not recorded yet.
const arriving = ".new-"

func unknown(name string) error {
	return problem.New(problem.UnknownCollection, "there is no collection %q", clip(name)).In("name")
}
