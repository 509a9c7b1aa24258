package main

import (
	"fmt"
	"slices"
	"strings"

	"thresher/dataset"
)

// endings lists the endings of the names of files for a use, joined by a word: ".npz, .parquet or .jsonl".
func endings(use dataset.Use, word string) string {
	all := strings.Split(endingsOf(use), ", ")
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " " + word + " " + all[last]
}

// endingsOf lists the endings without a word: ".npz, .parquet, .jsonl".
func endingsOf(use dataset.Use) string {
	var all []string
	for _, f := range dataset.FormatsFor(use) {
		all = append(all, f.Extension())
	}
	return strings.Join(all, ", ")
}

// noneOf is the error of a file, named by a flag, whose ending is none of those for a use.
func noneOf(flag, path string, use dataset.Use) error {
	return fmt.Errorf("--%s %s: name ends in none of %s", flag, path, endingsOf(use))
}

// isFor reports whether files of a format are for a use.
func isFor(f dataset.Format, use dataset.Use) bool {
	return slices.Contains(dataset.FormatsFor(use), f)
}
