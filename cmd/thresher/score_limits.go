package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/pflag"

	"thresher/collection"
	"thresher/tasks"
)

// scoreLimits are the limits of scores that all queries share. Of distances they have names of their own, since the
// best of these are the least.
type scoreLimits struct {
	least, greatest    float64
	minGiven, maxGiven bool
	minFlag, maxFlag   string   // by which they were given
	limitFlags         []string // all that were given, of limits and of columns of limits
	twice              error    // one was given by both
}

// add defines the flags, after the columns that stand for them.
func (f *scoreLimits) add(fs *pflag.FlagSet, least string) {
	fs.Float64Var(&f.least, "min-score", 0, least)
	fs.Float64Var(&f.greatest, "max-score", 0, "only vectors that score at most this")
	fs.Float64Var(&f.least, "max-distance", 0, "with --metric l2, in the place of --min-score, which is refused: only vectors whose squared distance is at most this")
	fs.Float64Var(&f.greatest, "min-distance", 0, "with --metric l2, in the place of --max-score, which is refused: only vectors whose squared distance is at least this")
	for column, limit := range map[string]string{
		"min-score-column": "--min-score", "max-score-column": "--max-score", "max-distance-column": "--max-distance", "min-distance-column": "--min-distance",
	} {
		if f := fs.Lookup(column); f != nil {
			f.Usage = strings.Replace(f.Usage, "null is no limit", "null is "+limit+", or no limit", 1)
		}
	}
}

// read finds out which limits are given.
func (f *scoreLimits) read(fs *pflag.FlagSet) {
	f.minFlag = f.given(fs, "min-score", "max-distance")
	f.maxFlag = f.given(fs, "max-score", "min-distance")
	f.minGiven, f.maxGiven = f.minFlag != "", f.maxFlag != ""
	f.given(fs, "min-score-column", "max-distance-column")
	f.given(fs, "max-score-column", "min-distance-column")
}

// given returns by which of two flags a limit is given, "" if by none.
func (f *scoreLimits) given(fs *pflag.FlagSet, score, distance string) string {
	switch {
	case fs.Changed(score) && fs.Changed(distance):
		f.twice = fmt.Errorf("--%s and --%s are one limit: the first of scores, the second of distances", score, distance)
	case fs.Changed(distance):
		f.limitFlags = append(f.limitFlags, distance)
		return distance
	case !fs.Changed(score):
		return ""
	}
	f.limitFlags = append(f.limitFlags, score)
	return score
}

// minScore returns the least score that all queries ask for, nil without one.
func (f *scoreLimits) minScore() *float64 {
	if !f.minGiven {
		return nil
	}
	return &f.least
}

// maxScore returns the greatest score that all queries ask for, nil without one.
func (f *scoreLimits) maxScore() *float64 {
	if !f.maxGiven {
		return nil
	}
	return &f.greatest
}

// checkLimitFlag refuses a flag of a limit, or of a column of limits, that has another name by metric m.
func checkLimitFlag(flag string, m collection.Metric) error {
	name, column := strings.CutSuffix(flag, "-column")
	wrong := tasks.CheckLimitName(strings.ReplaceAll(name, "-", "_"), m)
	if wrong == nil {
		return nil
	}
	right := "--" + strings.ReplaceAll(wrong.Right, "_", "-")
	if column {
		right += "-column"
	}
	return fmt.Errorf("--%s: %s", flag, wrong.Say(right))
}

// check returns an error if a limit is not finite, of another metric, below all distances, or if no score is within both.
func (f *scoreLimits) check(m collection.Metric) error {
	if f.twice != nil {
		return f.twice
	}
	for _, limit := range []struct {
		flag  string
		value float64
	}{{f.minFlag, f.least}, {f.maxFlag, f.greatest}} {
		if limit.flag != "" && (math.IsNaN(limit.value) || math.IsInf(limit.value, 0)) {
			return fmt.Errorf("--%s: %g is not finite", limit.flag, limit.value)
		}
	}
	for _, flag := range f.limitFlags {
		if err := checkLimitFlag(flag, m); err != nil {
			return err
		}
	}
	if m.Differences() && f.minGiven && f.least < 0 {
		return fmt.Errorf("--%s %g: squared distances are at least 0", f.minFlag, f.least)
	}
	if f.minGiven && f.maxGiven && m.Ceiling(f.greatest) < m.Ceiling(f.least) {
		return fmt.Errorf("--%s %g and --%s %g: no score is within both", f.minFlag, f.least, f.maxFlag, f.greatest)
	}
	return nil
}
