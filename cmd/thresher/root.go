package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thresher/choice"
	"thresher/collection"
	"thresher/internal/cli"
	"thresher/internal/fetch"
)

// fetchedFlags are the flags that openVectors reads.
var fetchedFlags = []string{"vectors", "queries", "signals", "with", "left", "right"}

// refuseURLs refuses the URLs that flags of other files and folders have.
func refuseURLs(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		kind, _ := pflag.UnquoteUsage(f)
		if err != nil || kind != "file" && kind != "folder" || slices.Contains(fetchedFlags, f.Name) || !fetch.Is(f.Value.String()) {
			return
		}
		err = fmt.Errorf("--%s %s: URLs are read as vectors and queries only; give a path of this machine", f.Name, fetch.Shown(f.Value.String()))
	})
	return err
}

// limitFlags are those without which more may be found, or deleted.
var limitFlags = []string{"filter", "filter-column", "exclude", "by"}

// refuseEmpty refuses limits that are given as nothing, as by a variable of a shell that is not set: without them all would be found.
func refuseEmpty(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.String() == "" && slices.Contains(limitFlags, f.Name) {
			err = fmt.Errorf("--%s is empty: leave it out if there is to be no such limit", f.Name)
		}
	})
	return err
}

func newRootCommand(a *app) *cobra.Command {
	root := a.Root(&cobra.Command{
		Use:   "thresher",
		Short: "Top-k inner products by elimination, with a certificate for every answer",
		Long: `thresher finds the k largest inner products (or cosines, or nearest neighbours)
of many queries against many vectors, without an index, with a stated failure
probability and a certificate for every answer.

Settings come from flags, environment variables (THRESHER_DELTA for --delta), a
configuration file, or defaults, in this order; config show prints the source of each.

Exit codes: 0 success; 1 verify found wrong answers, an offline job did not complete,
or data check found damage; 2 usage error or bad input; 3 partial answers because of
a deadline; 4 backend unavailable; 130 interrupted.`,
		Version: readBuildInfo().Version,
	},
		newDemoCommand(a),
		newSearchCommand(a),
		newVerifyCommand(a),
		newRecallCommand(a),
		newCertifyCommand(a),
		newReportCommand(a),
		newTruthCommand(a),
		newMergeCommand(a),
		newCheckCommand(a),
		newGraphCommand(a),
		newPairsCommand(a),
		newJoinCommand(a),
		newPursuitCommand(a),
		newBuildCommand(a),
		newRowsCommand(a),
		newInfoCommand(a),
		newBenchCommand(a),
		newPaperCommand(a),
		newServeCommand(a),
		newHealthCommand(a),
		newWorkerCommand(a),
		newDataCommand(a),
		newJobCommand(a),
		newConfigCommand(a),
		newVersionCommand(a),
	)
	load := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		return cmp.Or(refuseURLs(cmd.Flags()), refuseEmpty(cmd.Flags()), load(cmd, args))
	}
	flagHeadings.Group(root)
	root.AddCommand(choice.Commands(a.App)...)
	root.SetGlobalNormalizationFunc(a.Former.Present)
	return root
}

// addSettings defines flags for settings, with their valid names in the help and in shell
// completion.
func addSettings(cmd *cobra.Command, keys ...string) {
	cli.AddSettings(cmd, keys...)
	names := choices()
	for _, key := range keys {
		if names[key] == nil {
			continue
		}
		meaning := " (" + strings.Join(names[key], ", ") + ")"
		if key == "metric" {
			meaning = ": " + collection.MetricChoice
		}
		cmd.Flags().Lookup(key).Usage += meaning
		err := cmd.RegisterFlagCompletionFunc(key, cobra.FixedCompletions(names[key], cobra.ShellCompDirectiveNoFileComp))
		if err != nil {
			panic(err)
		}
	}
}
