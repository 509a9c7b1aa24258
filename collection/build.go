package collection

import (
	"context"
)

type transform struct{}

func (t *transform) bytes() int64 { return 0 }

// Build makes a collection of n = len(rows)/dim atoms held in memory. The
// collection keeps rows, which the caller must not change afterwards.
func Build(ctx context.Context, rows []float32, dim int, o *Options) (*Collection, error) {
	panic("draft")
}

// Source streams rows; a dataset.Reader is one.
type Source interface {
	Dim() int
	Len() int64 // rows, or -1 when only reading tells
	Read(dst []float32) (rows int, err error)
}

// BuildFrom reads all rows of src into memory and builds.
func BuildFrom(ctx context.Context, src Source, o *Options) (*Collection, error) { panic("draft") }

// Create streams src into a collection file at path, which appears complete or
// not at all; existing files are replaced only if force is set. Memory stays
// bounded: rows and codes are written through the file's mapping.
func Create(ctx context.Context, path string, src Source, force bool, o *Options) (*Collection, error) {
	panic("draft")
}

// Open maps a collection file. Every byte is checked against the file's
// checksums first; a truncated, foreign or altered file is refused by name.
func Open(path string) (*Collection, error) { panic("draft") }

// Info describes a collection file without mapping its data.
type Info struct {
	Path      string           `json:"path"`
	Version   int              `json:"version"`
	N         int              `json:"atoms"`
	Dim       int              `json:"dimension"`
	Metric    string           `json:"metric"`
	Basis     string           `json:"basis"`
	Seed      uint64           `json:"seed"`
	Head      int              `json:"head"`
	Rotated   int              `json:"rotated_dimension"`
	FileBytes int64            `json:"file_bytes"`
	Sections  map[string]int64 `json:"sections"`
}

// Stat reads a collection file's header.
func Stat(path string) (*Info, error) { panic("draft") }
