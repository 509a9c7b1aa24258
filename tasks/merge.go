package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// MergeFile is a file of answers over one shard of the vectors, or over several that were merged.
type MergeFile struct {
	Name    string // as shown in messages
	Results dataset.ResultReader
}

// MergeOptions are what a merge asks for; the zero value merges files that state what they cover.
type MergeOptions struct {
	// K is how many vectors an answer has at most, no more than the files' own k; 0 means that k.
	K int
	// Offsets, if not nil, are the numbers of the first rows of the files' vectors among all, one a file.
	// Merged answers then have row numbers, and equal scores are in the order of these.
	Offsets []int64
	// Unchecked merges files that do not state what they cover, or lack scores64. What such answers
	// promise is not known to hold of all vectors together, unless it is exact or certain.
	Unchecked bool
	// Metric orders the scores of files that do not state theirs; needed by Unchecked alone.
	Metric collection.Metric
}

// MergeSummary is what came of a merge.
type MergeSummary struct {
	Files     int     `json:"files"`
	Shards    int     `json:"shards"`  // 0 if a file does not state its own
	Vectors   int64   `json:"vectors"` // of all shards; 0 if a file does not state its own
	Queries   int64   `json:"queries"`
	K         int     `json:"k"` // 0: any number
	Metric    string  `json:"metric"`
	Pulls     int64   `json:"pulls"`
	Complete  int64   `json:"complete"`
	Guarantee string  `json:"guarantee"`
	Promise   string  `json:"promise"` // of all answers, in words
	Delta     float64 `json:"delta"`   // the greatest of an answer
	// Unchecked says that the files were merged without knowing what they cover.
	Unchecked bool `json:"unchecked,omitempty"`
	// Covers is what the merged answers cover; nil if a file does not state it.
	Covers *Coverage `json:"-"`
}

// Merge merges files of answers to the same queries over disjoint shards of the vectors, and calls do
// with each merged answer, in the order of the queries. Of each query it takes the k best of all
// answers by their float64 scores, equal ones by their id: whole numbers by value, before texts by
// their bytes. The merged guarantee is the worst, work is added, the greatest open bound counts, and
// an answer is complete if all are. It refuses answers to other queries, with other k or metric, and
// to the same vectors, naming the files.
//
// The order in which files are merged, and in how many steps, makes no difference.
func Merge(ctx context.Context, files []MergeFile, o *MergeOptions, do func(*dataset.Result) error) (*MergeSummary, error) {
	if o == nil {
		o = &MergeOptions{}
	}
	if len(files) == 0 {
		return nil, errors.New("no answers to merge")
	}
	if o.Offsets != nil && len(o.Offsets) != len(files) {
		return nil, fmt.Errorf("%d offsets for %d files", len(o.Offsets), len(files))
	}
	m := &merger{files: files, offsets: o.Offsets, answers: make([]dataset.Result, len(files))}
	for i, at := range o.Offsets {
		if at < 0 {
			return nil, fmt.Errorf("offset %d of %s is negative", at, files[i].Name)
		}
	}
	more, err := m.next()
	if err != nil {
		return nil, err
	}
	if !more {
		return nil, fmt.Errorf("%s: no answers", files[0].Name)
	}
	sum, err := m.begin(o)
	if err != nil {
		return nil, err
	}
	var promises Promises
	for ; more; more, err = m.next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, err := m.merge()
		if err != nil {
			return nil, err
		}
		if sum.Queries == 0 && sum.Covers != nil {
			if r.Covers, err = json.Marshal(sum.Covers); err != nil {
				return nil, err
			}
		}
		sum.Queries++
		sum.Pulls += max(0, r.Pulls)
		if !r.Partial {
			sum.Complete++
		}
		if err := promises.addResult(&r); err != nil {
			return nil, fmt.Errorf("query %d: %w", r.Query, err)
		}
		if err := do(&r); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	if sum.Covers != nil && sum.Covers.Count != sum.Queries {
		return nil, fmt.Errorf("%s states that it covers %d queries and has %d answers", files[0].Name, sum.Covers.Count, sum.Queries)
	}
	subject := Answers
	if sum.Covers != nil && sum.Covers.Reaching {
		subject = Reaching
	}
	sum.Guarantee, sum.Promise, sum.Delta = promises.Guarantee(), promises.Say(subject), max(promises.Delta, promises.Risk)
	return sum, nil
}

// merger merges the answers of files, one query after the other.
type merger struct {
	files   []MergeFile
	offsets []int64
	metric  collection.Metric
	k       int // 0: any number
	chances batch.Chances
	answers []dataset.Result // of the files, to one query
	hits    []hit            // of the merged answer
	at      []int            // vectors taken of each file's answer
	fronts  []int            // files that have more, by the score of the next, best first
	byID    map[string]int   // the file of each id
	byRow   map[int64]int
}

// hit is a vector of an answer. Exactly one of row and id tells it apart.
type hit struct {
	score    float64 // as shown
	row      int64   // among all vectors; -1 if only its file's rows are known
	id       string  // "" without ids
	file, at int     // its place
}

// next reads the answers to the next query.
func (m *merger) next() (bool, error) {
	id, named := "", 0 // the query's own id, and the file that has it
	for i := range m.files {
		r, err := m.files[i].Results.Next()
		if err == io.EOF && i == 0 {
			return false, m.allEnd()
		}
		if err == io.EOF {
			return false, fmt.Errorf("%s has an answer to query %d, %s has no more", m.files[0].Name, m.answers[0].Query, m.files[i].Name)
		}
		if err != nil {
			return false, err
		}
		m.answers[i] = r
		first := &m.answers[0]
		switch {
		case r.Query != first.Query:
			return false, fmt.Errorf("%s has the answer to query %d where %s has that to query %d; answers must be in the order of the queries", m.files[0].Name, first.Query, m.files[i].Name, r.Query)
		case r.QueryID != "" && id == "":
			id, named = r.QueryID, i
		case r.QueryID != "" && r.QueryID != id:
			return false, fmt.Errorf("query %d has the id %q in %s and %q in %s", r.Query, id, m.files[named].Name, r.QueryID, m.files[i].Name)
		}
	}
	return true, nil
}

// allEnd returns an error if a file has answers although the first has no more.
func (m *merger) allEnd() error {
	for _, f := range m.files[1:] {
		r, err := f.Results.Next()
		if err == nil {
			return fmt.Errorf("%s has an answer to query %d, %s has no more", f.Name, r.Query, m.files[0].Name)
		}
		if err != io.EOF {
			return err
		}
	}
	return nil
}

// merge merges the answers that next read.
func (m *merger) merge() (dataset.Result, error) {
	out := dataset.Result{Query: m.answers[0].Query, Exact: true}
	if err := m.gather(); err != nil {
		return out, fmt.Errorf("query %d: %w", out.Query, err)
	}
	withheld := false
	for i := range m.answers {
		a := &m.answers[i]
		out.QueryID = cmp.Or(out.QueryID, a.QueryID)
		if out.Pulls += a.Pulls; a.Pulls < 0 {
			withheld = true
		}
		out.Exact = out.Exact && a.Exact
		out.Partial = out.Partial || a.Partial
	}
	if withheld {
		out.Pulls = -1
	}
	m.promise(&out)
	m.fill(&out)
	return out, m.certify(&out)
}
