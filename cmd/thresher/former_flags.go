package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// formerFlags are names that flags had and that are still taken, with those that they have now.
var formerFlags = map[string]string{
	"atoms":          "vectors",
	"atoms-column":   vectorsColumnFlag,
	"column":         vectorsColumnFlag,
	"floor-column":   "min-score-column",
	"ceiling-column": "max-score-column",
	"force":          "overwrite",
	"misses":         "missed",
}

// presentName returns the name that a flag has now, for one that it had and that is still taken.
func presentName(_ *pflag.FlagSet, given string) pflag.NormalizedName {
	if now, ok := formerFlags[given]; ok {
		given = now
	}
	return pflag.NormalizedName(given)
}

// noteFormer returns a note for each former name among the flags of a command line, once and in order. It is
// an error if a flag is given by two names.
func noteFormer(args []string) (notes []string, err error) {
	given := map[string]string{} // by which name, by the present one
	for _, a := range args {
		if a == "--" {
			break
		}
		name, long := strings.CutPrefix(a, "--")
		if !long {
			continue
		}
		name, _, _ = strings.Cut(name, "=")
		now := string(presentName(nil, name))
		if other, ok := given[now]; ok && other != name {
			return nil, fmt.Errorf("--%s and --%s are one flag, whose name is --%s", other, name, now)
		}
		given[now] = name
		if note := fmt.Sprintf("--%s is called --%s now; the former name is still taken", name, now); now != name && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes, nil
}
