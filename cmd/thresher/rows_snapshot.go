package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"thresher/internal/cli"
)

func newRowsSnapshotCommand(a *app) *cobra.Command {
	f := &rowsFlags{}
	var out string
	cmd := &cobra.Command{
		Use:   "snapshot --collection FOLDER --out FOLDER",
		Short: "Copy a folder as it is at one instant",
		Long: `Copy a folder of vectors, as it is now, to a new one, which changes by itself from then
on. Segments are hard links, so that a copy takes little time and room. It appears
whole or not at all.`,
		Example: `  thresher rows snapshot --collection films/ --out films-monday`,
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return errors.New("--out: no folder named")
			}
			c, err := a.openChanging(cmd.Context(), f.folder)
			if err != nil {
				return err
			}
			s := &rowsSummary{Out: out}
			if _, err = c.Copy(strings.TrimSuffix(out, "/")); err == nil {
				err = s.finish(a, c.Folder, f.json)
			} else if errors.Is(err, fs.ErrExist) {
				err = fmt.Errorf("--out %s: exists already; a snapshot makes a folder of its own", out)
			}
			return errors.Join(err, c.close())
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&out, "out", "", "`folder` to make")
	addSettings(cmd, "threads")
	return cmd
}
