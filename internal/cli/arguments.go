package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"thresher/config"
)

// SeedOfDraws is the help of --seed for commands without a rotation.
const SeedOfDraws = "seed of what is drawn at random"

// NoSuchVerb rejects arguments of a command that has commands, and names those that are spelled like it.
func NoSuchVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	for distance := 1; distance <= 2; distance++ { // two letters swapped are 2
		cmd.SuggestionsMinimumDistance = distance
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return fmt.Errorf("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
		}
	}
	return fmt.Errorf("unknown command %q; see %s --help", args[0], cmd.CommandPath())
}

// NoArguments rejects arguments.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	verb := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	return fmt.Errorf("%s: unexpected argument %q; see %s --help", verb, args[0], cmd.CommandPath())
}

// AddSettings defines flags for settings, by their keys, and for those of the log. It panics if there is no
// such setting, which is a programming error.
func AddSettings(cmd *cobra.Command, keys ...string) {
	all := append([]string{}, keys...)
	if err := config.AddFlags(cmd.Flags(), append(all, "log.level", "log.format")...); err != nil {
		panic(err)
	}
}
