package collection

import (
	"fmt"
	"os"

	"thresher/dataset"
)

// Info describes a collection file without mapping its data.
type Info struct {
	Path      string `json:"path"`
	Version   int    `json:"version"`
	N         int    `json:"vectors"`
	Dim       int    `json:"dim"`
	Metric    string `json:"metric"`
	Basis     string `json:"basis"`
	Seed      uint64 `json:"seed"`
	Head      int    `json:"head"`
	Rotated   int    `json:"rotated_dim"`
	FileBytes int64  `json:"file_bytes"`
	// Elem is the type in which the rows are kept.
	Elem dataset.Elem `json:"dtype"`
	// Rounded is what rounding the rows given to float32 changed, nil if nothing.
	Rounded *dataset.Change `json:"rounded,omitempty"`
	// Relative says that the rows are relative to an origin in float64.
	Relative bool             `json:"relative_to_origin,omitempty"`
	Sections map[string]int64 `json:"sections"`
	// Coordinates are the names of the coordinates, nil if they have none.
	Coordinates []string `json:"-"`
}

// Stat reads a collection file's header.
func Stat(path string) (*Info, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := readHeader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	metric, err := StoredMetric(h.Metric)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %v", path, ErrCorrupt, err)
	}
	elem, err := h.elem()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	i := &Info{Path: path, Version: h.Version, N: h.N, Dim: h.Dim, Metric: metric.String(), Basis: h.Basis, Seed: h.Seed,
		Head: h.R, Rotated: h.D, FileBytes: h.Bytes, Elem: elem, Rounded: h.Change, Relative: h.hasOrigin(), Sections: map[string]int64{}}
	for _, s := range h.Sections {
		i.Sections[s.Name] = s.Bytes
	}
	if i.Coordinates, err = namesOf(h.Names, h.Dim); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return i, nil
}
