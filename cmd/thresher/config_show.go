package main

import (
	"encoding/json"
	"fmt"

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
variable THRESHER_*, the configuration file, or the default. The last line says how
much memory thresher serve would take with them, and how it would divide it.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return json.NewEncoder(a.out).Encode(struct {
					File     string         `json:"file,omitempty"`
					Settings []config.Value `json:"settings"`
					Memory   memoryShown    `json:"memory"`
				}{a.config.File, a.config.Values(), a.showMemory()})
			}
			t := newTable(a.out)
			t.row("KEY", "VALUE", "FROM")
			for _, v := range a.config.Values() {
				t.row(v.Key, v.Value, v.Origin)
			}
			if err := t.flush(); err != nil {
				return err
			}
			_, err := fmt.Fprintf(a.out, "\n%v\n", a.showMemory())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object on stdout")
	addSettings(cmd, searchSettings()...)
	return cmd
}
