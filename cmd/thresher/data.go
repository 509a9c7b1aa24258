package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"thresher/choice"
	"thresher/internal/cli"
	"thresher/service"
	"thresher/store"
)

func newDataCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Check, repair, back up and restore the data folder of a server",
		Long: `Check and repair the data folder of serve, while no server uses it; back it up, also
while one does, and restore backups; export what was judged in a tournament, and go on
with a damaged one.`,
		Args: cli.NoSuchVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDataCheckCommand(a), newDataRepairCommand(a), newDataBackupCommand(a), newDataRestoreCommand(a))
	cmd.AddCommand(choice.DataCommands(a.App)...)
	return cmd
}

// extensions are what a data folder has beside collections, files and offline jobs.
func (a *app) extensions() service.Extensions { return choice.Extensions(&a.Config.Server) }

func newDataCheckCommand(a *app) *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Verify everything in a data folder",
		Long: `Read all databases, collections, files, offline jobs, tournaments and slates of a data
folder, verify their checksums, and report damage. Nothing is changed.

Exit code 0: everything is intact and in the database; 1: something is damaged,
missing, or not in the database (starting the server or data repair adds it); 2: the
folder cannot be read, or a server uses it.`,
		Example: `  thresher data check --data /var/lib/thresher`,
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var items []store.Item
			err := a.extensions().Check(cmd.Context(), a.Config.Server.Data, func(i store.Item) { items = append(items, i) })
			if err != nil {
				return fmt.Errorf("data check: %w", err)
			}
			return a.printItems(items, asJSON, all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object on stdout")
	cmd.Flags().BoolVar(&all, "all", false, "list what is intact, too")
	addSettings(cmd, "data")
	return cmd
}

// printItems prints the results of a check; its error has the exit code.
func (a *app) printItems(items []store.Item, asJSON, all bool) error {
	counts := map[store.Verdict]int{}
	for _, i := range items {
		counts[i.Verdict]++
	}
	if asJSON {
		if items == nil {
			items = []store.Item{}
		}
		text, err := json.MarshalIndent(struct {
			Whole bool         `json:"whole"`
			Items []store.Item `json:"items"`
		}{counts[store.Intact] == len(items), items}, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%s\n", text)
	} else {
		for _, i := range items {
			if all || i.Verdict != store.Intact {
				printItem(a.Out, i)
			}
		}
		fmt.Fprintf(a.Out, "%d whole, %d damaged, %d missing, %d unknown to the database\n",
			counts[store.Intact], counts[store.Broken], counts[store.Missing], counts[store.Unknown])
	}
	if counts[store.Intact] < len(items) {
		return cli.Exit(cli.ExitWrong, errors.New("data check: found damage, or data that is not in the database; a start of the server or data repair rebuilds damaged databases and adds what is missing"))
	}
	return nil
}

func printItem(w io.Writer, i store.Item) {
	fmt.Fprintf(w, "%-8s %s %s", i.Verdict, i.Kind, i.Name)
	if i.Detail != "" {
		fmt.Fprintf(w, ": %s", i.Detail)
	}
	fmt.Fprintln(w)
}

func newDataRepairCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Rebuild damaged databases from what can still be read and from the files",
		Long: `Move damaged databases of a data folder to its subfolder lost+found, rebuild them from
what can still be read, and add the collections and files found in the folder. Files
that cannot be identified are moved to lost+found, whose list.jsonl says where they
were. Nothing is deleted. A start of the server does the same, and adds offline jobs.

Exit code 0: done; 2: the folder cannot be read or written, or a server uses it.`,
		Example: `  thresher data repair --data /var/lib/thresher`,
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := a.extensions().Repair(a.Config.Server.Data, a.Log)
			if err != nil {
				return fmt.Errorf("data repair: %w", err)
			}
			if asJSON {
				text, err := json.MarshalIndent(r, "", "  ")
				if err == nil {
					fmt.Fprintf(a.Out, "%s\n", text)
				}
				return err
			}
			printRepaired(a.Out, r)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object on stdout")
	addSettings(cmd, "data")
	return cmd
}

func printRepaired(w io.Writer, r *service.Repaired) {
	for _, d := range r.Databases {
		fmt.Fprintf(w, "%s: moved to %s; %d keys could be read\n", d.Name, d.MovedTo, d.Keys)
		for _, lost := range d.Lost {
			fmt.Fprintf(w, "  %s\n", lost)
		}
	}
	for _, name := range r.Collections {
		fmt.Fprintf(w, "collection %s added\n", name)
	}
	for _, id := range r.Files {
		fmt.Fprintf(w, "file %s added\n", id)
	}
	for _, k := range r.Moved {
		fmt.Fprintf(w, "%s: moved to %s: %s\n", k.From, k.To, k.Why)
	}
	fmt.Fprintf(w, "%d databases rebuilt, %d collections and %d files added, %d files moved\n",
		len(r.Databases), len(r.Collections), len(r.Files), len(r.Moved))
}
