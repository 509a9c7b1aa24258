package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"thresher/backend"
	"thresher/columns"
	"thresher/cpu"
	"thresher/internal/cli"
	"thresher/segments/folder"
)

func newRowsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rows",
		Short: "Write, delete and copy the vectors of a folder that changes",
		Long: `Write vectors to a folder and delete them by their ids, while others search it; copy
the folder as it is at one instant. build --out FOLDER/ makes one. What a command has
said to be done is on the disk, and is there after a crash.`,
		Args: cli.NoSuchVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRowsPutCommand(a), newRowsDeleteCommand(a), newRowsSnapshotCommand(a))
	return cmd
}

// rowsFlags are the flags of all verbs of rows.
type rowsFlags struct {
	folder string
	json   bool
}

func (f *rowsFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.folder, "collection", "", "`folder` of the vectors")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout")
}

// changingFolder is a folder that a command writes.
type changingFolder struct {
	*folder.Folder
	processor backend.Backend
}

// openChanging opens the folder at path to be written, and warns of what a crash has left.
func (a *app) openChanging(ctx context.Context, path string) (*changingFolder, error) {
	if path == "" {
		return nil, errors.New("--collection: no folder named")
	}
	threads := a.Config.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0) // nobody else is served
	}
	c := &changingFolder{processor: cpu.New(cpu.Options{Threads: 1})}
	var err error
	c.Folder, err = folder.Open(ctx, path, folder.Options{Backend: c.processor, ByHand: true, Threads: threads})
	if err != nil {
		if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
			err = fmt.Errorf("--collection %s: no such folder; build --out %s/ makes one", path, strings.TrimRight(path, "/"))
		}
		return nil, errors.Join(err, c.processor.Close())
	}
	if r := c.Recovered(); r.Cut > 0 {
		a.Log.Warn("a write that a crash interrupted, and that was never acknowledged, was removed", "file", r.File, "at", r.Offset, "bytes", r.Cut)
	}
	return c, nil
}

func (c *changingFolder) close() error { return errors.Join(c.Folder.Close(), c.processor.Close()) }

// rowsSummary is what a verb of rows says it did.
type rowsSummary struct {
	Written  int    `json:"written,omitempty"`
	Replaced int    `json:"replaced,omitempty"` // of them
	Deleted  int    `json:"deleted,omitempty"`
	Unknown  int    `json:"unknown,omitempty"` // ids to delete that were not there
	Rounded  int64  `json:"rounded,omitempty"` // values, to float32
	Rows     int    `json:"rows"`              // that the folder holds then
	Version  uint64 `json:"version"`
	Out      string `json:"out,omitempty"`

	Columns  []columns.Field `json:"columns,omitempty"` // of a folder that was made
	filtered bool            // what was deleted was not named by ids
}

// add counts a write.
func (s *rowsSummary) add(w folder.Written) {
	s.Written, s.Replaced, s.Deleted = s.Written+w.Rows, s.Replaced+w.Replaced, s.Deleted+w.Deleted
}

// finish says what the folder holds, and prints.
func (s *rowsSummary) finish(a *app, f *folder.Folder, asJSON bool) error {
	now := f.Snapshot()
	s.Rows, s.Version = now.Len(), now.Version()
	if err := now.Release(); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(a.Out).Encode(s)
	}
	t := cli.NewTable(a.Err)
	if s.Written > 0 {
		t.Row("written", fmt.Sprintf("%d vectors, %d of them in place of others", s.Written, s.Replaced))
	}
	if s.Rounded > 0 {
		t.Row("rounded", fmt.Sprintf("%d values to float32", s.Rounded))
	}
	if s.filtered {
		t.Row("deleted", fmt.Sprintf("%d vectors", s.Deleted))
	} else if s.Deleted+s.Unknown > 0 {
		t.Row("deleted", fmt.Sprintf("%d vectors; %d ids were not there", s.Deleted, s.Unknown))
	}
	if s.Out != "" {
		t.Row("folder", s.Out)
	}
	printFields(t, s.Columns)
	t.Row("vectors", s.Rows)
	t.Row("version", s.Version)
	return t.Flush()
}
