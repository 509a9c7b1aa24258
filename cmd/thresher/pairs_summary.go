package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"thresher/internal/cli"
	"thresher/tasks"
)

// pairsSummary is the report at the end of pairs.
type pairsSummary struct {
	Atoms int `json:"vectors"`
	tasks.Filtered
	Dimension int `json:"dim"`
	columnsRead
	// PairsPerRow, PairsPerRowWith and Components are unknown to a run that found all done by an earlier one.
	tasks.PairsFound
	Components componentsSummary `json:"components,omitzero"`
	// LoadSeconds is the time to read the atoms, BuildSeconds to build the collection,
	// SearchSeconds to find the pairs, including earlier runs if this one resumed, WriteSeconds to
	// write the outputs.
	LoadSeconds   float64 `json:"load_seconds"`
	BuildSeconds  float64 `json:"build_seconds"`
	SearchSeconds float64 `json:"search_seconds"`
	WriteSeconds  float64 `json:"write_seconds"`
	tasks.PairsRead
	Threads int    `json:"threads"`
	Backend string `json:"backend"`
	// GPUUnused says of each GPU that is there and does not search why, and what to do about it.
	GPUUnused []string `json:"gpu_unused,omitempty"`
	Resumed   int64    `json:"resumed"`
	Warnings  []string `json:"warnings,omitempty"`
	Output    string   `json:"output"`
}

// componentsSummary describes the components file.
type componentsSummary struct {
	tasks.ComponentCounts
	Output string `json:"output"`
}

// set fills in what is known after the search; shape is nil if an earlier run wrote the outputs.
func (s *pairsSummary) set(search *tasks.PairSearch, shape *tasks.PairShape) {
	found := search.Summary(shape)
	s.PairsFound, s.PairsRead = found.PairsFound, found.PairsRead
	s.Components.ComponentCounts = found.Components
	s.SearchSeconds = time.Duration(search.Counts().Nanos).Seconds()
}

// report prints the summary.
func (p *pairing) report() error {
	p.summary.GPUUnused = p.engine.unusedGPUs()
	if p.flags.json {
		return json.NewEncoder(p.Out).Encode(p.summary)
	}
	return p.summary.print(p.app)
}

// print writes the summary as a table.
func (s *pairsSummary) print(a *app) error {
	t := cli.NewTable(a.Err)
	t.Row("vectors", fmt.Sprintf("%d x %d, %s", s.Atoms, s.Dimension, s.Metric))
	printFilter(t, &s.Filtered)
	s.columnsRead.print(t)
	if s.PairsPerRowWith != nil {
		t.Row("with", fmt.Sprintf("%d rows", s.Rows))
	}
	pairs := fmt.Sprintf("%d that %s", s.Pairs, s.Reach())
	if s.Resumed > 0 {
		pairs += fmt.Sprintf("; %d rows by an earlier run", s.Resumed)
	}
	t.Row("pairs", pairs)
	if s.PairsPerRow != nil {
		t.Row("of a vector", s.PairsPerRow.String())
	}
	if s.PairsPerRowWith != nil {
		t.Row("of a row", s.PairsPerRowWith.String())
	}
	if c := s.Components; c.Output != "" {
		t.Row("components", fmt.Sprintf("%d, the largest of %d rows; %d rows remain if one of each is kept, %d go", c.Count, c.Largest, c.Count, c.Surplus))
	}
	t.Row("speed", fmt.Sprintf("%.0f rows/s on %s", float64(s.Rows)/max(s.SearchSeconds, 1e-9), (&summary{Threads: s.Threads, Backend: s.Backend}).computing()))
	t.Row("read", fmt.Sprintf("%s of what comparing each pair once reads, %d rows scored in full", percentRead(s.Saving), s.RowsScored))
	t.Row("method", s.Method)
	t.Row("guarantee", s.Promise)
	t.Row("time", fmt.Sprintf("load %s, build %s, search %s, write %s", seconds(s.LoadSeconds), seconds(s.BuildSeconds), seconds(s.SearchSeconds), seconds(s.WriteSeconds)))
	printUnusedGPUs(t, s.GPUUnused)
	t.Row("output", strings.TrimSuffix(s.Output+", "+s.Components.Output, ", "))
	for _, w := range s.Warnings {
		t.Row("warning", w)
	}
	return t.Flush()
}
