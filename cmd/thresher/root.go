package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thresher/collection"
	"thresher/config"
)

// withoutConfig marks commands that run even if the configuration is invalid.
const withoutConfig = "without-config"

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
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
		Version:       readBuildInfo().Version,
		Args:          noSuchVerb,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if _, free := cmd.Annotations[withoutConfig]; free || cmd.HasParent() && cmd.Parent().Name() == "completion" {
				return nil
			}
			return a.loadConfig(config.Sources{Flags: cmd.Flags()})
		},
	}
	root.SetVersionTemplate("thresher {{.Version}}\n")
	root.Annotations = map[string]string{withoutConfig: ""}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.PersistentFlags().StringVar(&a.configFile, "config", "", "configuration `file` (.yaml, .toml, .json); default: what "+config.FileVariable+" names")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		err = flagInWords(err)
		if cmd.HasParent() {
			err = fmt.Errorf("%s: %w", strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), err)
		}
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(
		newDemoCommand(a),
		newSearchCommand(a),
		newVerifyCommand(a),
		newRecallCommand(a),
		newCertifyCommand(a),
		newTruthCommand(a),
		newMergeCommand(a),
		newGraphCommand(a),
		newPairsCommand(a),
		newBuildCommand(a),
		newInfoCommand(a),
		newBenchCommand(a),
		newDuelCommand(a),
		newSlateCommand(a),
		newServeCommand(a),
		newHealthCommand(a),
		newWorkerCommand(a),
		newDataCommand(a),
		newJobCommand(a),
		newConfigCommand(a),
		newVersionCommand(a),
	)
	root.SetGlobalNormalizationFunc(presentName)
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			// cobra itself treats help for an unknown shell as success.
			cmd.Args = noSuchVerb
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	return root
}

func noSuchVerb(cmd *cobra.Command, args []string) error {
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

// noArguments rejects arguments.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	verb := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	return fmt.Errorf("%s: unexpected argument %q; see %s --help", verb, args[0], cmd.CommandPath())
}

// seedOfDraws is the help of --seed for commands without a rotation.
const seedOfDraws = "seed of what is drawn at random"

// addSettings defines flags for settings, with their valid names in the help and in shell
// completion.
func addSettings(cmd *cobra.Command, keys ...string) {
	if err := config.AddFlags(cmd.Flags(), append(keys, "log.level", "log.format")...); err != nil {
		panic(err) // unknown setting: a programming error
	}
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

// flagInWords says what form a flag's value has to have, in the place of what a parser of Go says of it.
func flagInWords(err error) error {
	forms := map[string]string{
		"float64": "a number, such as 0.05", "int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0 on",
		"bool": "true or false", "duration": "a time, such as 90s or 2m",
	}
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	form, ok := forms[bad.GetFlag().Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("--%s %q is not %s", bad.GetFlag().Name, bad.GetValue(), form)
}
