package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// FormerFlags are names that flags had and that are still taken, with those that they have now.
type FormerFlags map[string]string

// Present returns the name that a flag has now.
func (f FormerFlags) Present(_ *pflag.FlagSet, given string) pflag.NormalizedName {
	if now, ok := f[given]; ok {
		given = now
	}
	return pflag.NormalizedName(given)
}

// notes returns a note for each former name among the flags of a command line, once and in order. It is an error if a
// flag is given by two names.
func (f FormerFlags) notes(args []string) (notes []string, err error) {
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
		now := string(f.Present(nil, name))
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
