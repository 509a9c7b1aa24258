package clitest

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thresher/internal/cli"
)

// EachCommand calls see for each command below root, but for those that cobra adds.
func EachCommand(root *cobra.Command, see func(*cobra.Command)) {
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" && cmd.Name() != "help" {
			see(cmd)
			EachCommand(cmd, see)
		}
	}
}

// CheckHeadings fails the test unless help lists every flag of every command below root under a heading, and each name in
// all is that of a flag, once.
func CheckHeadings(t *testing.T, root *cobra.Command, all cli.Headings) {
	t.Helper()
	used := map[string]bool{}
	EachCommand(root, func(cmd *cobra.Command) {
		see := func(f *pflag.Flag) {
			used[f.Name] = true
			if at := strings.Index(f.Name, "-"); at > 0 {
				used[f.Name[:at+1]] = true
			}
			if !f.Hidden && cli.HeadingOf(f) == "" {
				t.Errorf("%s: --%s has no heading", cmd.CommandPath(), f.Name)
			}
		}
		cmd.Flags().VisitAll(see)
		cmd.PersistentFlags().VisitAll(see)
	})
	seen := map[string]bool{}
	for heading, names := range all {
		for name := range strings.FieldsSeq(names) {
			if !used[name] || seen[name] {
				t.Errorf("%s: there is no flag --%s, or it is listed twice", heading, name)
			}
			seen[name] = true
		}
	}
}
