package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thresher/config"
)

// WithoutConfig is the annotation of commands that run even if the configuration is invalid.
const WithoutConfig = "without-config"

// Root makes root, whose texts and Version are set, the root command of a: it prints help, takes --config,
// reads the settings before a command runs, and says in errors where help is. Then it adds the commands.
func (a *App) Root(root *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	root.Args = NoSuchVerb
	root.SilenceUsage, root.SilenceErrors = true, true
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if _, free := cmd.Annotations[WithoutConfig]; free || cmd.HasParent() && cmd.Parent().Name() == "completion" {
			return nil
		}
		return a.LoadConfig(config.Sources{Flags: cmd.Flags()})
	}
	root.SetVersionTemplate("thresher {{.Version}}\n")
	root.Annotations = map[string]string{WithoutConfig: ""}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.PersistentFlags().StringVar(&a.ConfigFile, "config", "", "configuration `file` (.yaml, .toml, .json); default: what "+config.FileVariable+" names")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(commands...)
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			// cobra itself treats help for an unknown shell as success.
			cmd.Args = NoSuchVerb
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	return root
}

// flagError says of an error in the flags of cmd which command it is of, and where its help is.
func flagError(cmd *cobra.Command, err error) error {
	err = flagInWords(err)
	if cmd.HasParent() {
		err = fmt.Errorf("%s: %w", strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), err)
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
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
