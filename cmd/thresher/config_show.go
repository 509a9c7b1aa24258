package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"thresher/batch"
	"thresher/config"
	"thresher/internal/cli"
)

// searchSettings lists the keys of searches.
func searchSettings() []string {
	return []string{"method", "metric", "basis", "backend", "device", "k", "delta", "epsilon", "seed", "threads", "chunk", "dense_limit", "read_limit", "cache", "cache_limit", "kernels", "costs"}
}

func newConfigCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Look at the configuration",
		Args:  cli.NoArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigShowCommand(a))
	return cmd
}

func newConfigShowCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the effective settings and where each came from",
		Long: `Print the effective settings and the source of each: a flag, an environment
variable THRESHER_*, the configuration file, or the default. The last line says how
much memory thresher serve would take with them, and how it would divide it.`,
		Example: `  thresher config show
  thresher config show --json`,
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return json.NewEncoder(a.Out).Encode(struct {
					File     string         `json:"file,omitempty"`
					Settings []config.Value `json:"settings"`
					Memory   memoryShown    `json:"memory"`
				}{a.Config.File, a.Config.Values(), a.showMemory()})
			}
			t := cli.NewTable(a.Out)
			t.Row("KEY", "VALUE", "FROM")
			for _, v := range a.Config.Values() {
				t.Row(v.Key, v.Value, v.Origin)
			}
			if err := t.Flush(); err != nil {
				return err
			}
			_, err := fmt.Fprintf(a.Out, "\n%v\n", a.showMemory())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object on stdout")
	addSettings(cmd, append(searchSettings(), batch.PublishedNames()...)...)
	return cmd
}
