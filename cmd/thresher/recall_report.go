package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"thresher/dataset"
	"thresher/internal/atomicfile"
	"thresher/internal/cli"
	"thresher/tasks"
	"thresher/verify"
)

// print writes the report as a table.
func (s *recallSummary) print(w io.Writer) error {
	t := cli.NewTable(w)
	t.Row("compared", fmt.Sprintf("%d of %d answers, %s, k = %d; best vectors by %s, plan %s, %.3g s", s.Queries, s.Answers, s.Metric, s.K, s.Method, s.Plan, s.TookMS/1e3))
	printFilter(t, &s.Filtered)
	s.columnsRead.print(t)
	t.Row("recall", fmt.Sprintf("%.4f; 95%% interval %.4f to %.4f", s.Recall, s.Low, s.High))
	if s.ByID < s.Recall {
		t.Row("by id", fmt.Sprintf("%.4f, if vectors of equal score did not stand for each other", s.ByID))
	}
	t.Row("complete", fmt.Sprintf("%d answers lack nothing", s.Complete))
	if s.Short > 0 {
		t.Row("short", fmt.Sprintf("%d answers have fewer than %d vectors", s.Short, s.K))
	}
	if s.Repeated > 0 {
		t.Row("repeated", fmt.Sprintf("%d vectors are listed again and count once", s.Repeated))
	}
	if s.Complete < s.Queries {
		for _, b := range s.Ranks {
			ranks := fmt.Sprintf("rank %d", b.From)
			if b.To > b.From {
				ranks = fmt.Sprintf("ranks %d to %d", b.From, b.To)
			}
			t.Row("missed", fmt.Sprintf("%s: %d of %d (%.2f%%)", ranks, b.Missed, b.Wanted, 100*float64(b.Missed)/float64(b.Wanted)))
		}
	}
	if s.Gaps != nil {
		t.Row("gap", fmt.Sprintf("missed vectors are better than the worst returned by %.2g%% (median), %.2g%% (90%% of them at most), %.2g%% (most)", 100*s.Gaps.Median, 100*s.Gaps.High, 100*s.Gaps.Worst))
	}
	for at, line := range verify.ReasonTexts(s.Reasons) {
		t.Row([]string{"why", ""}[min(at, 1)], line)
	}
	printScores(t, s.Scores)
	printUnusedGPUs(t, s.GPUUnused)
	return t.Flush()
}

// printScores adds the check of stated scores, nil without any, to a summary.
func printScores(t *cli.Table, f *verify.FormCount) {
	if f == nil {
		return
	}
	t.Row("scores", f)
	for _, x := range f.Sample {
		t.Row("", fmt.Sprintf("query %d: vector %d scores %.7g, not %.7g", x.Query, x.ID, x.Score, x.Stated))
	}
}

// missFile is the output of --missed.
type missFile struct {
	path   string
	file   *atomicfile.File
	buffer *bufio.Writer
	lines  *json.Encoder
	whole  *bool // whether the ids of all atoms are whole numbers; nil before it is known
}

func createMisses(path string, force bool) (*missFile, error) {
	if filepath.Ext(path) != ".jsonl" {
		return nil, fmt.Errorf("--missed %s: name does not end in .jsonl", path)
	}
	if err := cli.RefuseFolders(path); err != nil {
		return nil, err
	}
	if err := cli.RefuseExisting(force, path); err != nil {
		return nil, err
	}
	f, err := atomicfile.Create(path, 0o666)
	if err != nil {
		return nil, fmt.Errorf("--missed: %w", err)
	}
	b := bufio.NewWriter(f)
	return &missFile{path: path, file: f, buffer: b, lines: json.NewEncoder(b)}, nil
}

// write adds an answer that lacks vectors, to a query with this id, "" for none. names are the ids of all vectors, nil
// without.
func (m *missFile) write(c *tasks.Compared, queryID string, names *dataset.IDs) error {
	line := struct {
		Version int64   `json:"answers_version"`
		Query   int64   `json:"query"`
		QueryID any     `json:"query_id,omitempty"`
		Recall  float64 `json:"recall"`
		Missed  any     `json:"missed"` // their ids
		Rows    []int64 `json:"rows"`
	}{Version: dataset.AnswersVersion, Query: c.Query, Recall: c.Recall, Missed: m.idsOf(c.Missed, names), Rows: c.Missed}
	switch {
	case queryID == "":
	case dataset.AreWhole([]string{queryID}):
		line.QueryID = json.Number(queryID)
	default:
		line.QueryID = queryID
	}
	if err := m.lines.Encode(line); err != nil {
		return fmt.Errorf("%s: %w", m.path, err)
	}
	return nil
}

// idsOf returns the ids of rows: numbers if all atoms' ids are whole numbers, else texts, or the rows where there are none.
func (m *missFile) idsOf(rows []int64, names *dataset.IDs) any {
	if names == nil {
		return rows
	}
	if m.whole == nil {
		whole := names.Whole()
		m.whole = &whole
	}
	if !*m.whole {
		texts := make([]string, len(rows))
		for i, row := range rows {
			texts[i] = names.Text(row)
		}
		return texts
	}
	numbers := make([]json.Number, len(rows))
	for i, row := range rows {
		numbers[i] = json.Number(names.Text(row))
	}
	return numbers
}

// commit gives the file its name.
func (m *missFile) commit(replace bool) error {
	if err := m.buffer.Flush(); err != nil {
		return fmt.Errorf("%s: %w", m.path, err)
	}
	return m.file.Commit(replace)
}

// discard removes the file unless it was committed.
func (m *missFile) discard() { m.file.Discard() }
