package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"thresher/dataset"
)

// MaxQueryParts is the most parts into which the queries of a search are divided.
const MaxQueryParts = 1 << 20

// QueryPart is consecutive queries of a search whose queries are divided into parts of equal size, each answered by a
// process of its own.
type QueryPart struct {
	Index int64 `json:"index"` // 0 to Of-1
	Of    int64 `json:"of"`    // 1 to MaxQueryParts
	First int64 `json:"first"` // query of the part
	Count int64 `json:"count"` // of its queries
}

// ParseQueryPart reads I/N: part I of N, whose queries Divide sets.
func ParseQueryPart(text string) (*QueryPart, error) {
	number, of, ok := strings.Cut(text, "/")
	i, err := strconv.ParseInt(number, 10, 64)
	n, err2 := strconv.ParseInt(of, 10, 64)
	switch {
	case !ok || err != nil || err2 != nil:
		return nil, fmt.Errorf("%q is not I/N, as 0/16", text)
	case n < 1 || n > MaxQueryParts:
		return nil, fmt.Errorf("%q: %d parts are not in 1..%d", text, n, MaxQueryParts)
	case i < 0 || i >= n:
		return nil, fmt.Errorf("%q: parts are numbered from 0 to %d", text, n-1)
	}
	return &QueryPart{Index: i, Of: n}, nil
}

// Divide sets which of m queries the part has. There are at least as many queries as parts.
func (p *QueryPart) Divide(m int64) error {
	if m < p.Of {
		return fmt.Errorf("%d queries are fewer than %d parts", m, p.Of)
	}
	begin := func(i int64) int64 {
		high, low := bits.Mul64(uint64(m), uint64(i))
		at, _ := bits.Div64(high, low, uint64(p.Of))
		return int64(at)
	}
	p.First = begin(p.Index)
	p.Count = begin(p.Index+1) - p.First
	return nil
}

// check refuses what Divide does not set for m queries.
func (p *QueryPart) check(m int64) error {
	if p.Of < 1 || p.Of > MaxQueryParts || p.Index < 0 || p.Index >= p.Of {
		return fmt.Errorf("part %d of %d is none", p.Index, p.Of)
	}
	own := QueryPart{Index: p.Index, Of: p.Of}
	if err := own.Divide(m); err != nil {
		return err
	}
	if own != *p {
		return fmt.Errorf("part %d of %d states %d queries from %d on, and of %d it has %d from %d on", p.Index, p.Of, p.Count, p.First, m, own.Count, own.First)
	}
	return nil
}

// PartFile is a file of answers to a part of the queries.
type PartFile struct {
	Name string // as shown in messages
	// Open opens the answers, which CheckParts closes. It is called twice.
	Open func() (dataset.ResultReader, error)
}

// PartsSummary is what CheckParts found.
type PartsSummary struct {
	Parts     int     `json:"parts"` // that are there
	Of        int64   `json:"of"`    // into which the queries are divided
	Missing   []int64 `json:"missing"`
	Queries   int64   `json:"queries"`  // that are answered
	Count     int64   `json:"count"`    // of all queries
	Complete  int64   `json:"complete"` // answers
	K         int     `json:"k"`        // 0: any number
	Metric    string  `json:"metric"`
	Pulls     int64   `json:"pulls"`
	Guarantee string  `json:"guarantee"`
	Promise   string  `json:"promise"` // of the answers that are there, in words
	Delta     float64 `json:"delta"`   // the greatest of an answer
	// Covers is what the answers of all parts together cover.
	Covers *Coverage `json:"-"`
}

// CheckParts reads files of answers to parts of the same queries, says which parts are missing, and calls do, unless it
// is nil and unless a part is missing, with every answer in the order of all queries: then the answers are those of one
// search. It refuses files that state no part, that belong to different searches or to the same part, and those that
// lack answers, naming the files.
func CheckParts(ctx context.Context, files []PartFile, do func(*dataset.Result) error) (*PartsSummary, error) {
	if len(files) == 0 {
		return nil, errors.New("no answers to check")
	}
	covers := make([]*Coverage, len(files))
	order := make([]int, len(files))
	for i := range files {
		var err error
		if covers[i], err = readPart(&files[i]); err != nil {
			return nil, err
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(covers[i].Part.Index, covers[j].Part.Index) })
	first := covers[0]
	all := *first
	all.Part, all.ExcludeSelf, all.Epsilon, all.Delta, all.Rounded = nil, false, 0, 0, 0
	sum := &PartsSummary{Parts: len(files), Of: first.Part.Of, Missing: []int64{}, Count: first.Count, K: first.K, Metric: first.Metric, Covers: &all}
	next := int64(0)
	for at, i := range order {
		if err := covers[i].isOf(first, files[i].Name, files[0].Name); err != nil {
			return nil, err
		}
		part := covers[i].Part.Index
		if at > 0 && part == covers[order[at-1]].Part.Index {
			return nil, fmt.Errorf("%s and %s both have part %d of %d", files[order[at-1]].Name, files[i].Name, part, sum.Of)
		}
		for ; next < part; next++ {
			sum.Missing = append(sum.Missing, next)
		}
		next = part + 1
	}
	for ; next < sum.Of; next++ {
		sum.Missing = append(sum.Missing, next)
	}
	if len(sum.Missing) > 0 {
		do = nil
	}
	var promises Promises
	for _, i := range order {
		promises.Rounded = max(promises.Rounded, covers[i].Rounded)
		if err := sum.read(ctx, &files[i], covers[i].Part, &promises, do); err != nil {
			return nil, err
		}
	}
	subject := Answers
	if first.Reaching {
		subject = Reaching
	}
	sum.Guarantee, sum.Promise, sum.Delta = promises.Guarantee(), promises.Say(subject), max(promises.Delta, promises.Risk)
	return sum, nil
}

// readPart reads which part of which queries the answers of a file are to.
func readPart(f *PartFile) (*Coverage, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close() // read only
	a, err := r.Next()
	if err == io.EOF {
		return nil, fmt.Errorf("%s: no answers", f.Name)
	}
	if err != nil {
		return nil, err
	}
	if a.Covers == nil {
		return nil, fmt.Errorf("%s does not state to which part of the queries its answers are, as files that search --part wrote do", f.Name)
	}
	c, err := ReadCoverage(a.Covers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if c.Part == nil {
		return nil, fmt.Errorf("%s has the answers to all queries, and is no part", f.Name)
	}
	return c, nil
}

// isOf returns an error if answers that cover c are not a part of the search of which other is one.
func (c *Coverage) isOf(other *Coverage, name, otherName string) error {
	differ := func(what string, a, b any) error {
		return fmt.Errorf("%s and %s are not parts of one search: %s differs, %v and %v", otherName, name, what, b, a)
	}
	switch {
	case c.Part.Of != other.Part.Of:
		return differ("the number of parts", c.Part.Of, other.Part.Of)
	case c.Count != other.Count:
		return differ("the number of queries", c.Count, other.Count)
	case c.Queries != other.Queries:
		return differ("the digest of the queries", c.Queries, other.Queries)
	case c.Metric != other.Metric:
		return differ("the metric", c.Metric, other.Metric)
	case c.K != other.K || c.OwnK != other.OwnK:
		return differ("k", c.K, other.K)
	case c.Limits != other.Limits || c.Reaching != other.Reaching || c.ExcludeSelf != other.ExcludeSelf:
		return fmt.Errorf("%s and %s are not parts of one search: least or greatest scores or exclusions differ", otherName, name)
	case c.Method != other.Method:
		return differ("the method", c.Method, other.Method)
	case c.Epsilon != other.Epsilon:
		return differ("epsilon", c.Epsilon, other.Epsilon)
	case c.Delta != other.Delta:
		return differ("delta", c.Delta, other.Delta)
	case !slices.Equal(c.Shards, other.Shards):
		return fmt.Errorf("%s and %s are not parts of one search: the vectors differ", otherName, name)
	}
	return nil
}

// read reads the answers of a part.
func (s *PartsSummary) read(ctx context.Context, f *PartFile, p *QueryPart, promises *Promises, do func(*dataset.Result) error) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close() // read only
	at := int64(0)
	for ; ; at++ {
		a, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if a.Query != p.First+at && a.Query != at { // files without numbers count from 0
			return fmt.Errorf("%s: answer %d (0-based) of the part is to query %d in place of %d", f.Name, at, a.Query, p.First+at)
		}
		a.Query, a.Covers = p.First+at, nil
		s.Queries++
		s.Pulls += max(0, a.Pulls)
		if !a.Partial {
			s.Complete++
		}
		if err := promises.addResult(&a); err != nil {
			return fmt.Errorf("%s: answer %d (0-based): %w", f.Name, at, err)
		}
		if do == nil {
			continue
		}
		if err := do(&a); err != nil {
			return err
		}
	}
	if at != p.Count {
		return fmt.Errorf("%s: %d answers of the %d of part %d of %d", f.Name, at, p.Count, p.Index, p.Of)
	}
	return nil
}
