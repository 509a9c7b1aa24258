package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/pflag"

	"thresher/collection"
)

// scoreLimits are the limits of scores that all queries share.
type scoreLimits struct {
	least, greatest           float64
	leastGiven, greatestGiven bool
}

// add defines the flags, after the columns that stand for them.
func (f *scoreLimits) add(fs *pflag.FlagSet, least string) {
	fs.Float64Var(&f.least, "min-score", 0, least)
	fs.Float64Var(&f.greatest, "max-score", 0, "only atoms that score at most this (distances: at least)")
	for column, limit := range map[string]string{"floor-column": "--min-score", "ceiling-column": "--max-score"} {
		if f := fs.Lookup(column); f != nil {
			f.Usage = strings.Replace(f.Usage, "null is no limit", "null is "+limit+", or no limit", 1)
		}
	}
}

// read finds out which limits are given.
func (f *scoreLimits) read(fs *pflag.FlagSet) {
	f.leastGiven, f.greatestGiven = fs.Changed("min-score"), fs.Changed("max-score")
}

// minScore returns the least score that all queries ask for, nil without one.
func (f *scoreLimits) minScore() *float64 {
	if !f.leastGiven {
		return nil
	}
	return &f.least
}

// maxScore returns the greatest score that all queries ask for, nil without one.
func (f *scoreLimits) maxScore() *float64 {
	if !f.greatestGiven {
		return nil
	}
	return &f.greatest
}

// check returns an error if a limit is not finite, or if no score is within both.
func (f *scoreLimits) check(m collection.Metric) error {
	for _, limit := range []struct {
		flag  string
		value float64
	}{{"min-score", f.least}, {"max-score", f.greatest}} {
		if math.IsNaN(limit.value) || math.IsInf(limit.value, 0) {
			return fmt.Errorf("--%s: %g is not finite", limit.flag, limit.value)
		}
	}
	if f.leastGiven && f.greatestGiven && m.Ceiling(f.greatest) < m.Ceiling(f.least) {
		return fmt.Errorf("--min-score %g and --max-score %g: no score is within both", f.least, f.greatest)
	}
	return nil
}
