package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"thresher/batch"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/tasks"
)

// facts are what the output says of all its rows.
func (j *joining) facts() ([]dataset.Fact, error) {
	s := &j.summary.JoinSummary
	near, far := tasks.LimitNames(j.metric)
	limits := map[string]*float64{near: j.request.MinScore, far: j.request.MaxScore}
	text, err := json.Marshal(struct {
		Version     int      `json:"version"`
		Metric      string   `json:"metric"`
		K           int      `json:"k"`
		MinScore    *float64 `json:"min_score,omitempty"`
		MaxScore    *float64 `json:"max_score,omitempty"`
		MaxDistance *float64 `json:"max_distance,omitempty"`
		MinDistance *float64 `json:"min_distance,omitempty"`
		By          []string `json:"by,omitempty"`
		How         string   `json:"how"`
		Guarantee   string   `json:"guarantee"`
		Delta       float64  `json:"delta,omitempty"` // of each row of the left table, if it is not 0
		Promise     string   `json:"promise"`
	}{
		1, s.Metric, s.K, limits["min_score"], limits["max_score"], limits["max_distance"], limits["min_distance"],
		j.flags.keys(), j.flags.how, s.Guarantee, j.grantedDelta(), s.Promise,
	})
	return []dataset.Fact{{Name: "thresher_join", Text: string(text)}}, err
}

// grantedDelta is the failure probability of a row, 0 if none can be wrong.
func (j *joining) grantedDelta() float64 {
	if j.run.Work.Guarantees[batch.GuaranteeProbabilistic] == 0 {
		return 0
	}
	return j.summary.Delta
}

// joinSummary is the report at the end of join.
type joinSummary struct {
	RightRows int `json:"right_rows"`
	Dimension int `json:"dim"`
	columnsRead
	By  []string `json:"by,omitempty"`
	How string   `json:"how"`
	tasks.JoinSummary
	// LoadSeconds is the time to read the right vectors, BuildSeconds to sort and prepare them.
	LoadSeconds  float64 `json:"load_seconds"`
	BuildSeconds float64 `json:"build_seconds"`
	WriteSeconds float64 `json:"write_seconds"`
	Threads      int     `json:"threads"`
	Resumed      int64   `json:"resumed"`
	Output       string  `json:"output"`
}

// report prints the summary.
func (j *joining) report() error {
	if j.flags.json {
		return json.NewEncoder(j.Out).Encode(j.summary)
	}
	return j.summary.print(j.app)
}

// print writes the summary as a table.
func (s *joinSummary) print(a *app) error {
	t := cli.NewTable(a.Err)
	t.Row("right", fmt.Sprintf("%d x %d, %s", s.RightRows, s.Dimension, s.Metric))
	var parts []string
	if s.QueryColumns != "" {
		parts = append(parts, "left from "+s.QueryColumns)
	}
	if s.VectorColumns != "" {
		parts = append(parts, "right from "+s.VectorColumns)
	}
	if parts != nil {
		t.Row("columns", strings.Join(parts, "; "))
	}
	left := fmt.Sprintf("%d rows, %d of them in a pair", s.Rows, s.Matched)
	if s.Resumed > 0 {
		left += fmt.Sprintf("; %d by an earlier run", s.Resumed)
	}
	t.Row("left", left)
	if s.By != nil {
		t.Row("by", fmt.Sprintf("%s, %d keys", strings.Join(s.By, ", "), s.Groups))
	}
	t.Row("pairs", fmt.Sprintf("%d, %s of each row", s.Pairs, (&summary{K: s.K, Metric: s.Metric}).wanted()))
	if s.RightRows > 0 && s.Rows > 0 {
		s.printWork(t)
	}
	t.Row("method", s.Method)
	t.Row("guarantee", s.Promise)
	t.Row("time", fmt.Sprintf("load %s, build %s, search %s, write %s", seconds(s.LoadSeconds), seconds(s.BuildSeconds), seconds(s.SearchSeconds), seconds(s.WriteSeconds)))
	t.Row("output", s.Output)
	return t.Flush()
}

// printWork writes what the join took.
func (s *joinSummary) printWork(t *cli.Table) {
	t.Row("speed", fmt.Sprintf("%.0f rows/s on %s", float64(s.Rows)/max(s.SearchSeconds, 1e-9), (&summary{Threads: s.Threads, Backend: "cpu"}).computing()))
	t.Row("read", fmt.Sprintf("%s, %d rows scored in full", describeRead(s.Saving, "the data of equal keys"), s.RowsScored))
}
