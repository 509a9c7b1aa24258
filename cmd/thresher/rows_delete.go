package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thresher/columns"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/segments/folder"
)

func newRowsDeleteCommand(a *app) *cobra.Command {
	f := &rowsFlags{}
	var list string
	var where rowFilter
	cmd := &cobra.Command{
		Use:   "delete --collection FOLDER --ids FILE|LIST",
		Short: "Delete vectors by their ids, or by their columns",
		Long: `Delete the vectors of these ids: a file with one a line, or a list with commas between.
Ids that are not there are counted and ignored. Or delete, in one write, those for which
an expression over the columns of the folder is true.`,
		Example: `  thresher rows delete --collection films/ --ids 17,23
  thresher rows delete --collection films/ --ids withdrawn.txt
  thresher rows delete --collection films/ --filter "year < 1950 and lang is null"`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (list == "") == (where.text == "") {
				return errors.New("--ids or --filter, one of them, says which vectors are deleted")
			}
			if err := where.parse(); err != nil {
				return err
			}
			if where.expr != nil {
				return a.deleteSelected(cmd.Context(), f, where.expr)
			}
			ids, err := a.listedIDs(list)
			if err != nil {
				return err
			}
			return a.runRowsDelete(cmd.Context(), f, list, ids)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&list, "ids", "", "`file` of ids, one a line, - for standard input; or the ids, with commas between")
	cmd.Flags().StringVar(&where.text, "filter", "", "delete the vectors for which this `expression` over their columns is true, as --filter of search")
	addSettings(cmd, "threads")
	return cmd
}

// listedIDs reads the ids of --ids.
func (a *app) listedIDs(list string) (*dataset.IDs, error) {
	words, name := strings.Split(list, ","), "--ids"
	in, err := io.Reader(a.In), error(nil)
	if list != cli.Stdio {
		var file *os.File
		if file, err = os.Open(list); err == nil {
			defer file.Close()
			in = file
		}
	}
	switch {
	case err == nil:
		words, name = nil, "--ids "+list
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			words = append(words, lines.Text())
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	case !errors.Is(err, fs.ErrNotExist) && !strings.Contains(list, ","):
		return nil, err
	}
	var ids dataset.IDsBuilder
	for _, word := range words {
		if word = strings.TrimSpace(word); word != "" {
			ids.Add(word)
		}
	}
	if ids.Len() == 0 {
		return nil, fmt.Errorf("%s: no ids", name)
	}
	return ids.IDs(), cmp.Or(dataset.CheckKept(name, ids.IDs()), dataset.CheckUnique(name, ids.IDs())) // the folder knows whether they can be texts
}

// hasAny reports whether one of ids has a vector.
func hasAny(f *folder.Folder, ids *dataset.IDs) bool {
	now := f.Snapshot()
	defer now.Release()
	return slices.ContainsFunc(now.Numbers(ids), func(number int64) bool { return number >= 0 && now.Has(number) })
}

// isPathLike reports whether an id that --ids names may be the name of a file, which is not there.
func isPathLike(list string) bool {
	_, err := os.Stat(list)
	return err != nil && list != cli.Stdio && !strings.Contains(list, ",") && (filepath.Ext(list) != "" || strings.ContainsRune(filepath.ToSlash(list), '/'))
}

func (a *app) runRowsDelete(ctx context.Context, f *rowsFlags, list string, ids *dataset.IDs) error {
	c, err := a.openChanging(ctx, f.folder)
	if err != nil {
		return err
	}
	if isPathLike(list) && !hasAny(c.Folder, ids) {
		return errors.Join(fmt.Errorf("--ids %s: there is no such file, and %s has no vector of this id", list, f.folder), c.close())
	}
	s := &rowsSummary{}
	done, err := c.Delete(ctx, ids)
	if err == nil {
		s.add(done)
		s.Unknown = ids.Len() - done.Deleted
		err = c.Maintain(ctx)
	}
	if err == nil {
		err = s.finish(a, c.Folder, f.json)
	}
	return errors.Join(err, c.close())
}

// deleteSelected deletes the vectors for which an expression is true.
func (a *app) deleteSelected(ctx context.Context, f *rowsFlags, expr *columns.Expr) error {
	c, err := a.openChanging(ctx, f.folder)
	if err != nil {
		return err
	}
	s := &rowsSummary{filtered: true}
	ids, err := selectedIDs(c.Folder, expr)
	if err != nil {
		return errors.Join(fmt.Errorf("--filter: %s: %w", f.folder, err), c.close())
	}
	done, err := c.Delete(ctx, ids)
	if err == nil {
		s.add(done)
		err = c.Maintain(ctx)
	}
	if err == nil {
		err = s.finish(a, c.Folder, f.json)
	}
	return errors.Join(err, c.close())
}

// selectedIDs returns the ids of the vectors of a folder for which an expression is true.
func selectedIDs(f *folder.Folder, expr *columns.Expr) (*dataset.IDs, error) {
	now := f.Snapshot()
	found, err := now.Select(expr)
	if err != nil {
		return nil, errors.Join(err, now.Release())
	}
	return now.IDs(found.IDs()), now.Release()
}
