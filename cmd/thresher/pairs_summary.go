package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/tasks"
)

// pairsSummary is the report at the end of pairs.
type pairsSummary struct {
	Atoms     int `json:"atoms"`
	Dimension int `json:"dimension"`
	columnsRead
	Rows      int64   `json:"rows"` // compared with the atoms: the atoms themselves, or those of --with
	Metric    string  `json:"metric"`
	MinScore  float64 `json:"min_score"`
	Method    string  `json:"method"`
	Guarantee string  `json:"guarantee"`
	Law       string  `json:"law,omitempty"` // of rows whose guarantee is probabilistic
	Promise   string  `json:"promise"`       // of all pairs, in words
	Delta     float64 `json:"delta"`
	Pairs     int64   `json:"pairs"`
	Expected  float64 `json:"pairs_expected,omitempty"` // by the sample, before the search
	// RowsExact counts the rows for which no atom was dropped by a bound that can fail, RowsOpen
	// those that are not finished, which is 0 at the end of a run.
	RowsExact int64 `json:"rows_exact"`
	RowsOpen  int64 `json:"rows_open"`
	// PairsPerRow is the distribution of the pairs of an atom; PairsPerRowWith of a row of --with. Both, and Components, are
	// unknown to a run that found all done by an earlier one.
	PairsPerRow     *degrees          `json:"pairs_per_row,omitempty"`
	PairsPerRowWith *degrees          `json:"pairs_per_row_with,omitempty"`
	Components      componentsSummary `json:"components,omitzero"`
	// LoadSeconds is the time to read the atoms, BuildSeconds to build the collection,
	// SearchSeconds to find the pairs, including earlier runs if this one resumed, WriteSeconds to
	// write the outputs.
	LoadSeconds   float64 `json:"load_seconds"`
	BuildSeconds  float64 `json:"build_seconds"`
	SearchSeconds float64 `json:"search_seconds"`
	WriteSeconds  float64 `json:"write_seconds"`
	Pulls         int64   `json:"pulls"`
	// Saving is by what factor fewer coordinates were read than by comparing every pair once.
	Saving     float64 `json:"saving"`
	BytesRead  int64   `json:"bytes_read"`
	RowsScored int64   `json:"rows_scored"`
	Again      int64   `json:"searched_again"` // searches for rows in many pairs, after the first
	Threads    int     `json:"threads"`
	Backend    string  `json:"backend"`
	// GPUUnused says of each GPU that is there and does not search why, and what to do about it.
	GPUUnused []string `json:"gpu_unused,omitempty"`
	Resumed   int64    `json:"resumed"`
	Warnings  []string `json:"warnings,omitempty"`
	Output    string   `json:"output"`
}

// degrees is the distribution of the number of pairs that rows are in.
type degrees struct {
	Without int64   `json:"rows_without"`
	Mean    float64 `json:"mean"`
	Median  uint32  `json:"median"`
	P99     uint32  `json:"p99"`
	Max     uint32  `json:"max"`
}

// degreesOf describes counts, which it sorts.
func degreesOf(counts []uint32) (d degrees) {
	if len(counts) == 0 {
		return d
	}
	slices.Sort(counts)
	sum := 0.
	for _, n := range counts {
		sum += float64(n)
		if n == 0 {
			d.Without++
		}
	}
	last := len(counts) - 1
	d.Mean = sum / float64(len(counts))
	d.Median, d.P99, d.Max = counts[last/2], counts[last*99/100], counts[last]
	return d
}

// componentsSummary describes the components file.
type componentsSummary struct {
	Count   int64  `json:"count"`   // single rows included
	Largest int64  `json:"largest"` // rows
	Surplus int64  `json:"surplus"` // rows that keep is false for
	Output  string `json:"output"`
}

// set fills in what is known after the search; shape is nil if an earlier run wrote the outputs.
func (s *pairsSummary) set(t *pairsTally, shape *pairsShape) {
	w := &t.Work
	s.Rows, s.Pairs, s.RowsExact, s.Again = w.Rows, t.Pairs, w.Exact, w.Again
	promises := tasks.Promises{Guarantees: w.Guarantees, Laws: w.Laws, Delta: s.Delta}
	s.Method, s.Guarantee, s.Law, s.Promise = names(w.Methods, ""), promises.Guarantee(), promises.Law(), promises.Say(tasks.Pairs)
	s.SearchSeconds = time.Duration(t.Nanos).Seconds()
	s.Pulls, s.BytesRead, s.RowsScored = w.Pulls, w.Bytes, w.RowsScored
	s.Saving = batch.Stats{Pulls: w.Pulls, DensePulls: w.DensePulls}.Saving()
	if shape == nil {
		return
	}
	if c := shape.components; c != nil {
		s.Components.Count, s.Components.Largest = c.Count()
		s.Components.Surplus = int64(len(shape.degreesA)+len(shape.degreesB)) - s.Components.Count
	}
	atoms := degreesOf(shape.degreesA)
	s.PairsPerRow = &atoms
	if shape.degreesB != nil {
		other := degreesOf(shape.degreesB)
		s.PairsPerRowWith = &other
	}
}

// report prints the summary.
func (p *pairing) report() error {
	p.summary.GPUUnused = p.engine.unusedGPUs()
	if p.flags.json {
		return json.NewEncoder(p.out).Encode(p.summary)
	}
	return p.summary.print(p.app)
}

// print writes the summary as a table.
func (s *pairsSummary) print(a *app) error {
	t := newTable(a.err)
	t.row("atoms", fmt.Sprintf("%d x %d, %s", s.Atoms, s.Dimension, s.Metric))
	s.columnsRead.print(t)
	if s.PairsPerRowWith != nil {
		t.row("with", fmt.Sprintf("%d rows", s.Rows))
	}
	pairs := fmt.Sprintf("%d that %s", s.Pairs, s.reach())
	if s.Resumed > 0 {
		pairs += fmt.Sprintf("; %d rows by an earlier run", s.Resumed)
	}
	t.row("pairs", pairs)
	if s.PairsPerRow != nil {
		t.row("of an atom", s.PairsPerRow.String())
	}
	if s.PairsPerRowWith != nil {
		t.row("of a row", s.PairsPerRowWith.String())
	}
	if c := s.Components; c.Output != "" {
		t.row("components", fmt.Sprintf("%d, the largest of %d rows; %d rows remain if one of each is kept, %d go", c.Count, c.Largest, c.Count, c.Surplus))
	}
	t.row("speed", fmt.Sprintf("%.0f rows/s on %s", float64(s.Rows)/max(s.SearchSeconds, 1e-9), (&summary{Threads: s.Threads, Backend: s.Backend}).computing()))
	t.row("saving", fmt.Sprintf("%s, %d rows scored in full", (&summary{Saving: s.Saving}).saved(), s.RowsScored))
	t.row("method", s.Method)
	t.row("guarantee", s.Promise)
	t.row("time", fmt.Sprintf("load %s, build %s, search %s, write %s", seconds(s.LoadSeconds), seconds(s.BuildSeconds), seconds(s.SearchSeconds), seconds(s.WriteSeconds)))
	printUnusedGPUs(t, s.GPUUnused)
	t.row("output", strings.TrimSuffix(s.Output+", "+s.Components.Output, ", "))
	for _, w := range s.Warnings {
		t.row("warning", w)
	}
	return t.flush()
}

// String describes the distribution in words.
func (d *degrees) String() string {
	return fmt.Sprintf("%.3g on average, median %d, 99%% at most %d, at most %d; %d in none", d.Mean, d.Median, d.P99, d.Max, d.Without)
}

// reach says in words what the pairs have that are wanted.
func (s *pairsSummary) reach() string {
	if m, err := collection.ParseMetric(s.Metric); err == nil && m.Differences() {
		return fmt.Sprintf("are at most %g apart (squared distance)", s.MinScore)
	}
	return fmt.Sprintf("score at least %g", s.MinScore)
}
