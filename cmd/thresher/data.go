package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"thresher/service"
	"thresher/service/db"
)

func newDataCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Check and repair the data folder of a server",
		Long: `Check and repair the folder that serve keeps everything in, while no server has it
open.`,
		Args: noSuchVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDataCheckCommand(a), newDataRepairCommand(a))
	return cmd
}

func newDataCheckCommand(a *app) *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Read a data folder to its end and say what of it is whole",
		Long: `Read the databases, collections, files, batches, tournaments and slates of a data
folder to their end, checksums included, and say which are whole. Nothing is changed.

Exit code 0: all is whole, and the database knows all; 1: something is damaged or missing,
or is there and the database does not know it, which a start of the server and data
repair put right; 2: the folder cannot be read, or a server has it open.`,
		Example: `  thresher data check --data /var/lib/thresher`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var items []db.Item
			err := service.Check(cmd.Context(), a.config.Server.Data, func(i db.Item) { items = append(items, i) })
			if err != nil {
				return fmt.Errorf("data check: %w", err)
			}
			return a.tellItems(items, asJSON, all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object on stdout")
	cmd.Flags().BoolVar(&all, "all", false, "name what is whole, too")
	addSettings(cmd, "data")
	return cmd
}

// tellItems prints what a check has found; its error has the exit code.
func (a *app) tellItems(items []db.Item, asJSON, all bool) error {
	counts := map[db.Verdict]int{}
	for _, i := range items {
		counts[i.Verdict]++
	}
	if asJSON {
		if items == nil {
			items = []db.Item{}
		}
		text, err := json.MarshalIndent(struct {
			Whole bool      `json:"whole"`
			Items []db.Item `json:"items"`
		}{counts[db.Whole] == len(items), items}, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s\n", text)
	} else {
		for _, i := range items {
			if all || i.Verdict != db.Whole {
				tellItem(a.out, i)
			}
		}
		fmt.Fprintf(a.out, "%d whole, %d damaged, %d missing, %d unknown to the database\n",
			counts[db.Whole], counts[db.Broken], counts[db.Missing], counts[db.Unknown])
	}
	if counts[db.Whole] < len(items) {
		return &exitError{exitWrong, errors.New("data check: not all is whole; data repair moves damaged databases aside and has others know what is there")}
	}
	return nil
}

func tellItem(w io.Writer, i db.Item) {
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
		Short: "Make damaged databases anew of what can be read of them and of the files",
		Long: `Move damaged databases of a data folder to its folder lost+found, make others of what
can still be read of them, and have them know the collections and files that are there.
What nothing tells of is moved to lost+found, whose list.jsonl says where it was.
Nothing is removed. Batches are taken in again when the server starts.

Exit code 0: done; 2: the folder cannot be read or written, or a server has it open.`,
		Example: `  thresher data repair --data /var/lib/thresher`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := service.Repair(a.config.Server.Data, a.log)
			if err != nil {
				return fmt.Errorf("data repair: %w", err)
			}
			if asJSON {
				text, err := json.MarshalIndent(r, "", "  ")
				if err == nil {
					fmt.Fprintf(a.out, "%s\n", text)
				}
				return err
			}
			tellRepaired(a.out, r)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object on stdout")
	addSettings(cmd, "data")
	return cmd
}

func tellRepaired(w io.Writer, r *service.Repaired) {
	for _, d := range r.Databases {
		fmt.Fprintf(w, "%s: moved to %s; %d keys could be read of it\n", d.Name, d.MovedTo, d.Keys)
		for _, lost := range d.Lost {
			fmt.Fprintf(w, "  %s\n", lost)
		}
	}
	for _, name := range r.Collections {
		fmt.Fprintf(w, "collection %s is known again\n", name)
	}
	for _, id := range r.Files {
		fmt.Fprintf(w, "file %s is known again\n", id)
	}
	for _, k := range r.Moved {
		fmt.Fprintf(w, "%s: moved to %s: %s\n", k.From, k.To, k.Why)
	}
	fmt.Fprintf(w, "%d databases made anew, %d collections and %d files known again, %d files moved\n",
		len(r.Databases), len(r.Collections), len(r.Files), len(r.Moved))
}
