package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
	"thresher/internal/shapes"
)

// shapeFiles writes the vectors and queries of a shape's example: with a column id where its ids are texts.
func shapeFiles(t *testing.T, dir string, s *shapes.Shape) (vectors, queries string) {
	write := func(name string, rows [][]float32, ids []string) string {
		var lines strings.Builder
		for i, row := range rows {
			line := map[string]any{"vector": row}
			if ids != nil {
				line["id"] = ids[i]
			}
			text, err := json.Marshal(line)
			if err != nil {
				t.Fatal(err)
			}
			lines.Write(append(text, '\n'))
		}
		return clitest.WriteFile(t, dir, name, []byte(lines.String()))
	}
	rows := make([][]float32, len(shapes.Names))
	for i := range rows {
		rows[i] = make([]float32, shapes.Dim)
		rows[i][i] = 1
	}
	names, asked := shapes.Names, shapes.Asked
	if s.IDs != shapes.Texts {
		names = nil
	}
	if s.Queries == "" {
		asked = nil
	}
	return write("v.jsonl", rows, names), write("q.jsonl", shapes.Queries, asked)
}

// TestAnswersOfOthers: recall, certify and verify find the answers of every shape right, and their scores on the scale
// that the program states them on.
func TestAnswersOfOthers(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	for _, s := range shapes.All() {
		t.Run(s.File, func(t *testing.T) {
			dir := t.TempDir()
			vectors, queries := shapeFiles(t, dir, &s)
			files := []string{"--vectors", vectors, "--queries", queries, "--metric", s.Metric, "--answers", clitest.WriteFile(t, dir, s.File, s.Data())}
			r := recallOf(t, files...)
			if r.Recall != 1-float64(s.Lacks)/6 || r.K != 3 || len(r.Reasons) > 0 {
				t.Errorf("%+v", r.RecallReport)
			}
			if found := r.Scores; (found == nil) != (s.Scores == "") || found != nil && (found.Form != s.Scores || found.Wrong != 0 || found.Stated != 6-int64(s.Lacks)) {
				t.Errorf("scores %+v", found)
			}
			certified := summaryOf(t, thresher(t, append([]string{"certify", "--json", "--out", filepath.Join(dir, "out.npz")}, files...)...)).Certified
			code := cli.ExitOK
			if s.Lacks > 0 {
				code = cli.ExitWrong
			}
			if int(certified.Missed) != s.Lacks {
				t.Errorf("%+v", certified)
			}
			thresher(t, append([]string{"verify"}, files...)...).WantCode(t, code)
		})
	}
}
