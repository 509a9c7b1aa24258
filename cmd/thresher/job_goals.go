package main

import (
	"github.com/spf13/pflag"

	"thresher/service/api"
)

// jobGoals name what the rows of a job's matrix ask for themselves; "" names nothing.
type jobGoals struct {
	k, floor, ceiling   string // columns
	exclude, candidates string // files
	zeros               string
}

func (g *jobGoals) add(fs *pflag.FlagSet) {
	fs.StringVar(&g.k, "k-column", "", "`column` of the queries with the k of each; null is that of all")
	fs.StringVar(&g.floor, "min-score-column", "", "`column` of the queries with the least score of each (distances: the greatest)")
	fs.StringVar(&g.ceiling, "max-score-column", "", "`column` of the queries with the greatest score of each (distances: the least)")
	fs.StringVar(&g.exclude, "exclude", "", "`file` of the ids that each query may not return, a list a query (.npz of scipy, .jsonl, .ivecs)")
	fs.StringVar(&g.zeros, "zeros", "", "whether a zero that the sparse matrix of --exclude stores excludes its id: `keep or drop`; without it such a zero is an error")
	fs.StringVar(&g.candidates, "candidates", "", "`file` of answers to the queries, of any origin, whose atoms are scored first")
}

// spec returns the goals of a batch, without the ids of files; nil without any.
func (g *jobGoals) spec() *api.BatchGoals {
	if *g == (jobGoals{}) {
		return nil
	}
	return &api.BatchGoals{KColumn: g.k, MinScoreColumn: g.floor, MaxScoreColumn: g.ceiling, Zeros: g.zeros}
}
