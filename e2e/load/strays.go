//go:build linux

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// straysWait is the time within which unused files must be removed.
const straysWait = 5 * time.Minute

// noStrays fails if the folder of files holds files that the server does not list.
func noStrays(ctx context.Context, a *api, dir string) error {
	return eventually(ctx, func() error {
		listed, err := a.files(ctx)
		if err != nil {
			return err
		}
		entries, err := os.ReadDir(filepath.Join(dir, "files"))
		if err != nil {
			return err
		}
		var names []string
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".about") { // each file has such a note
				names = append(names, e.Name())
			}
		}
		// Running batches may be handing over their answers.
		if len(names) != len(listed) {
			return fmt.Errorf("%d files are listed, the folder holds %v", len(listed), names)
		}
		return nil
	})
}

// nothingListed fails if a server lists anything, such as what a repeated request made a second time.
func nothingListed(ctx context.Context, a *api) error {
	for _, path := range listedPaths() {
		names, err := namesIn(ctx, a, path)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return fmt.Errorf("everything was deleted and %s lists %v", path, names)
		}
	}
	return nil
}

// nothingLeft fails if the folder of a stopped server holds more than its databases.
func nothingLeft(dir string) error {
	var left []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		kept := filepath.Dir(path) == filepath.Clean(dir) && slices.Contains([]string{"meta.db", "slates.db", "format.json"}, filepath.Base(path))
		if err == nil && !d.IsDir() && !kept {
			left = append(left, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("everything was deleted and %v is left", left)
	}
	return nil
}

// eventually retries so until it succeeds or straysWait has passed.
func eventually(ctx context.Context, so func() error) error {
	waiting, stop := patiently(ctx, straysWait, nil)
	defer stop()
	for {
		err := so()
		if err == nil || waiting.Err() != nil {
			return err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
