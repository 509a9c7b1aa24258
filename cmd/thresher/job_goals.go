package main

import (
	"github.com/spf13/pflag"

	"thresher/dataset"
	"thresher/service/api"
)

// jobGoals name what the rows of a job's matrix ask for themselves; "" names nothing.
type jobGoals struct {
	k                        string // column, as the four below
	minScore, maxScore       string
	maxDistance, minDistance string
	filter                   string // column of expressions
	exclude, candidates      string // files
	zeros                    string
}

func (g *jobGoals) add(fs *pflag.FlagSet) {
	fs.StringVar(&g.k, "k-column", "", "`column` of the queries with the k of each; null is that of all")
	fs.StringVar(&g.minScore, "min-score-column", "", "`column` of the queries with the least score of each")
	fs.StringVar(&g.maxScore, "max-score-column", "", "`column` of the queries with the greatest score of each")
	fs.StringVar(&g.maxDistance, "max-distance-column", "", "with the metric l2, `column` of the queries with the greatest squared distance of each")
	fs.StringVar(&g.minDistance, "min-distance-column", "", "with the metric l2, `column` of the queries with the least squared distance of each")
	fs.StringVar(&g.filter, "filter-column", "", "`column` of the queries with an expression for each that says which vectors its answer may have, in place of --filter; null takes that of all")
	fs.StringVar(&g.exclude, "exclude", "", "`file` of the ids that each query may not return, a list a query ("+endingsOf(dataset.ListsRead)+"; .npz of scipy)")
	fs.StringVar(&g.zeros, "zeros", "", "whether a zero that the sparse matrix of --exclude stores excludes its id: `keep or drop`; without it such a zero is an error")
	fs.StringVar(&g.candidates, "candidates", "", "`file` of answers to the queries, of any origin, whose vectors are scored first")
}

// spec returns the goals of a batch, without the ids of files; nil without any.
func (g *jobGoals) spec() *api.BatchGoals {
	if *g == (jobGoals{}) {
		return nil
	}
	return &api.BatchGoals{KColumn: g.k, MinScoreColumn: g.minScore, MaxScoreColumn: g.maxScore, MaxDistanceColumn: g.maxDistance, MinDistanceColumn: g.minDistance, FilterColumn: g.filter, Zeros: g.zeros}
}
