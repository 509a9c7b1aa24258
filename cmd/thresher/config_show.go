package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"thresher/config"
)

// searchSettings lists the keys that `config show` accepts as flags.
func searchSettings() []string {
	return []string{"method", "metric", "basis", "backend", "device", "k", "delta", "epsilon", "seed", "threads", "chunk", "dense_limit", "read_limit", "kernels", "costs"}
}

func newConfigCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Look at the configuration",
		Args:  noArguments,
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
variable THRESHER_*, the configuration file, or the default.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return json.NewEncoder(a.out).Encode(struct {
					File     string         `json:"file,omitempty"`
					Settings []config.Value `json:"settings"`
				}{a.config.File, a.config.Values()})
			}
			t := newTable(a.out)
			t.row("KEY", "VALUE", "FROM")
			for _, v := range a.config.Values() {
				t.row(v.Key, v.Value, v.Origin)
			}
			return t.flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object on stdout")
	addSettings(cmd, searchSettings()...)
	return cmd
}
