package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/cli"
	"thresher/tasks"
	"thresher/verify"
)

// searchTotals sums the figures of a search's answers, and of certify. It is stored in the durable progress, so that a
// resumed run includes the earlier ones.
type searchTotals struct {
	tasks.SearchCounts
	Certified    tasks.CertifyCounts `json:"certified,omitzero"`
	StatedScores verify.StatedScores `json:"stated_scores,omitzero"`
}

// readTotals decodes the totals of the previous chunk; nil is an empty one.
func readTotals(totals []byte) (t searchTotals, err error) {
	if totals == nil {
		return t, nil
	}
	if err := json.Unmarshal(totals, &t); err != nil {
		return t, fmt.Errorf("totals of the former run: %w", err)
	}
	if t.Unfinished > 0 && t.Guarantees[batch.GuaranteeBound] == 0 {
		return t, fmt.Errorf("an earlier version stopped %d of the answers at --deadline and wrote them without a mark; --overwrite starts over", t.Unfinished)
	}
	return t, nil
}

// addTotals adds the figures of a response to the encoded totals of the chunks before.
func addTotals(totals []byte, r *batch.Response) ([]byte, error) {
	t, err := readTotals(totals)
	if err != nil {
		return nil, err
	}
	t.Add(r)
	return json.Marshal(t)
}

// summary is the report at the end of a search.
type summary struct {
	Atoms int    `json:"vectors"`
	DType string `json:"dtype,omitempty"` // in which they are kept, if not float32
	tasks.Filtered
	Dimension int `json:"dim"`
	columnsRead
	K       int    `json:"k"` // the greatest of any query; 0 if one asks for any number
	KColumn string `json:"k_column,omitempty"`
	Metric  string `json:"metric"`
	// SearchSummary says what came of the answers, including those of earlier runs if this one resumed.
	tasks.SearchSummary
	Delta   float64 `json:"delta"`
	Epsilon float64 `json:"epsilon"`
	// LoadSeconds is the time to read the atoms, BuildSeconds to build the collection.
	LoadSeconds  float64 `json:"load_seconds"`
	BuildSeconds float64 `json:"build_seconds"`
	Threads      int     `json:"threads"`
	Backend      string  `json:"backend"`
	Resumed      int64   `json:"resumed"`
	Output       string  `json:"output,omitempty"`
	// Certified is what certify found.
	Certified *tasks.CertifySummary `json:"certified,omitempty"`
	Graph     *tasks.GraphShape     `json:"graph,omitempty"`
	// GPUUnused says of each GPU that is there and does not search why, and what to do about it.
	GPUUnused []string `json:"gpu_unused,omitempty"`
	// Memory is what the search took at most in addition to the atoms, of searches for many
	// atoms.
	Memory *tasks.PartMemory `json:"memory,omitempty"`

	subject tasks.Subject // of the promise
}

// setTotals fills in what came of the answers. The method that was asked for stays if there are none, and
// warnings that are known stay before the engine's.
func (s *summary) setTotals(t searchTotals) {
	method, warnings := s.Method, s.Warnings
	s.SearchSummary = *t.Summary(s.subject)
	s.Method, s.Warnings = cmp.Or(s.Method, method), append(warnings, s.Warnings...)
}

// names lists the keys by descending count; other if there are none.
func names[T ~string](counts map[T]int64, other string) string {
	var keys []T
	for k := range counts {
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return other
	}
	slices.SortFunc(keys, func(a, b T) int {
		if counts[a] != counts[b] {
			return int(min(1, max(-1, counts[b]-counts[a])))
		}
		return strings.Compare(string(a), string(b))
	})
	text := make([]string, len(keys))
	for i, k := range keys {
		text[i] = string(k)
	}
	return strings.Join(text, ", ")
}

// print writes the summary as a table.
func (s *summary) print(a *app) error {
	t := cli.NewTable(a.Err)
	t.Row("vectors", fmt.Sprintf("%d x %d, %s", s.Atoms, s.Dimension, ofType(s.DType, s.Metric)))
	printFilter(t, &s.Filtered)
	s.columnsRead.print(t)
	if s.Graph != nil {
		t.Row("graph", s.describeGraph())
	} else {
		t.Row("queries", s.counted())
	}
	t.Row("speed", fmt.Sprintf("%.0f %s/s on %s", s.QueriesPerSecond, s.answered(), s.computing()))
	t.Row("read", fmt.Sprintf("%s, %d rows scored in full", s.read(), s.RowsScored))
	t.Row("method", s.Method)
	t.Row("guarantee", s.Promise)
	t.Row("time", fmt.Sprintf("load %s, build %s, search %s", seconds(s.LoadSeconds), seconds(s.BuildSeconds), seconds(s.SearchSeconds)))
	switch {
	case s.Certified != nil:
		printCertified(t, s.Certified)
	case s.Candidates.Given > 0:
		t.Row("candidates", fmt.Sprintf("%d given, %d of them in the answers", s.Candidates.Given, s.Candidates.Right))
	}
	if s.Memory != nil {
		t.Row("memory", describeMemory(s.Memory, s.K, s.Atoms))
	}
	if s.Output != "" {
		t.Row("answers", s.Output)
	}
	printUnusedGPUs(t, s.GPUUnused)
	for _, w := range s.Warnings {
		t.Row("warning", w)
	}
	return t.Flush()
}

// computing describes the backend; a device has no threads.
func (s *summary) computing() string {
	switch s.Threads {
	case 0:
		return s.Backend
	case 1:
		return s.Backend + ", 1 thread"
	}
	return fmt.Sprintf("%s, %d threads", s.Backend, s.Threads)
}

// answered describes the answers that the speed counts.
func (s *summary) answered() string {
	if s.Graph != nil {
		return "rows"
	}
	if s.unfinished() > 0 {
		return "finished queries"
	}
	return "queries"
}

func (s *summary) read() string {
	if s.Queries > 0 && s.Complete == 0 {
		return "unknown, as no answer was finished"
	}
	return describeRead(s.Saving, "the data")
}

// describeRead words what part of the coordinates of something was read, of which saving is the inverse, and why if it is
// more than all: blocks have rows that were not asked for, and what a look, or a scan in float32, keeps is scored from rows.
func describeRead(saving float64, of string) string {
	text := percentRead(saving) + " of " + of
	if math.Round(100/saving) > 100 {
		text += " (more than all: rows are read in blocks, and those kept again)"
	}
	return text
}

// percentRead is the inverse of a saving in percent.
func percentRead(saving float64) string {
	if percent := 100 / saving; percent < 10 {
		return fmt.Sprintf("%.2g%%", percent)
	}
	return fmt.Sprintf("%.0f%%", 100/saving)
}

func (s *summary) counted() string {
	text := fmt.Sprintf("%d, %s each", s.Queries, s.wanted())
	if s.Resumed > 0 {
		text += fmt.Sprintf("; %d of them by an earlier run", s.Resumed)
	}
	if s.unfinished() > 0 {
		text += fmt.Sprintf("; %d stopped early, best so far", s.unfinished())
	}
	return text
}

func (s *summary) wanted() string {
	if s.K == 0 && s.Metric == collection.Euclidean.String() {
		return "all within the greatest distance"
	}
	if s.K == 0 {
		return "all that reach the least score"
	}
	if s.KColumn != "" {
		return fmt.Sprintf("up to %d best", s.K)
	}
	return fmt.Sprintf("%d best", s.K)
}

// withLaw appends the law of the probabilistic answers, if known, to the name of their
// guarantee.
func withLaw(guarantees, law string) string {
	if law == "" {
		return guarantees
	}
	name := string(batch.GuaranteeProbabilistic)
	return strings.Replace(guarantees, name, name+" ("+law+")", 1)
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Microsecond).String()
}

// unfinished is the number of answers whose searches were stopped.
func (s *summary) unfinished() int64 { return s.Queries - s.Complete }
