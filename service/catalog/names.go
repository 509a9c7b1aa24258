package catalog

import (
	"crypto/rand"
	"encoding/hex"
	"regexp"

	"thresher/service/problem"
)

const namePattern = `[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}`

// checkName refuses invalid names of collections.
func checkName(name string) error {
	if len(name) > 64 || !regexp.MustCompile("^"+namePattern+"$").MatchString(name) {
		return problem.New(problem.InvalidValue, "%q is not a valid collection name", clip(name)).In("name").Within("^" + namePattern + "$")
	}
	return nil
}

// newBase returns a new prefix for the names of a version's files.
func newBase(name string) string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return name + "-" + hex.EncodeToString(b)
}

// versionFile splits the name of a version's file into base and suffix. The base begins with
// the collection's name.
func versionFile() *regexp.Regexp {
	return regexp.MustCompile(`^((` + namePattern + `)-[0-9a-f]{16})(\..+)$`)
}

// temporaryFile matches the names of incomplete files, which were not acknowledged: uploads,
// notes and collections.
func temporaryFile() *regexp.Regexp {
	return regexp.MustCompile(`^(\.new-` + namePattern + `-[0-9a-f]{16}\..+|\.` + namePattern + `-[0-9a-f]{16}\..+\.new(-[0-9a-z]+)?)$`)
}

// arriving is the prefix of files of a change that is not recorded yet.
const arriving = ".new-"

func unknown(name string) error {
	return problem.New(problem.UnknownCollection, "there is no collection %q", clip(name)).In("name")
}
