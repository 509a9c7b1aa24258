package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// record is a line of results of any kind, with the fields that are plotted.
type record struct {
	Kind string `json:"kind"`
	Task string `json:"task"`
	Set  string `json:"set"`
	M    int    `json:"m"`
	K    int    `json:"k"`

	// kind race
	Checked int `json:"checked"`
	Wrong   int `json:"wrong"`

	// kind sweep
	Over  string  `json:"over"`
	Value float64 `json:"value"`
	Ratio float64 `json:"ratio"`

	// kinds build and peer
	BuildSeconds float64 `json:"build_seconds"`

	// kind peer
	Index  string  `json:"index"`
	Points []point `json:"points"`
}

// point is an index at one setting; times are in µs a query in batches of 256.
type point struct {
	Setting  string  `json:"setting"`
	Recall   float64 `json:"recall"`
	Index    float64 `json:"us_m256"`
	Thresher float64 `json:"thresher_us_m256"`
}

// read returns the records of all results in a folder. A truncated line ends its file.
func read(folder string) ([]record, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	var all []record
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		for n, line := range bytes.Split(text, []byte("\n")) {
			if !json.Valid(line) {
				break
			}
			var r record
			if err := json.Unmarshal(line, &r); err != nil {
				return nil, fmt.Errorf("%s, line %d: %w", f, n+1, err)
			}
			all = append(all, r)
		}
	}
	return all, nil
}
