package main

import "thresher/internal/cli"

// formerFlags are names that flags had.
func formerFlags() cli.FormerFlags {
	return cli.FormerFlags{
		"atoms":          "vectors",
		"atoms-column":   vectorsColumnFlag,
		"column":         vectorsColumnFlag,
		"floor-column":   "min-score-column",
		"ceiling-column": "max-score-column",
		"force":          "overwrite",
		"misses":         "missed",
		"timeout":        "deadline",
	}
}
