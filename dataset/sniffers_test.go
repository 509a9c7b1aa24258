package dataset

import (
	"io"
	"slices"
	"strings"
	"testing"

	"thresher/internal/sniffers"
)

// readFirst reads all rows, and returns how many there are and the first.
func readFirst(t *testing.T, path string, opt *Options) (rows, dim int, first []float32, err error) {
	t.Helper()
	r, err := Open(path, opt)
	if err != nil {
		return 0, 0, nil, err
	}
	defer r.Close()
	buffer := make([]float32, 8*r.Dim())
	for {
		n, err := r.Read(buffer)
		if rows == 0 && n > 0 {
			first = slices.Clone(buffer[:r.Dim()])
		}
		if rows += n; err == io.EOF {
			return rows, r.Dim(), first, nil
		}
		if err != nil {
			return rows, r.Dim(), first, err
		}
	}
}

// TestSniffers: no reader guesses, and what the user says decides.
func TestSniffers(t *testing.T) {
	words := map[sniffers.Word]string{sniffers.Column: "--my-column", sniffers.Header: "--my-header"}
	for _, c := range sniffers.Cases() {
		t.Run(c.Decides+"/"+c.Name, func(t *testing.T) {
			path := writeTemp(t, c.File, string(c.Data))
			opt := Options{FindIDs: true, Words: Words{Column: words[sniffers.Column], Header: words[sniffers.Header]}}
			if c.Words != nil {
				rows, dim, _, err := readFirst(t, path, &opt)
				if err == nil {
					t.Fatalf("is read as %d x %d", rows, dim)
				}
				for _, word := range append(slices.Clone(c.Words), words[c.Word]) {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("%q lacks %q", err, word)
					}
				}
			}
			if c.Rows == 0 {
				return
			}
			opt.Column, opt.Header, opt.IDs = c.Choice.Column, c.Choice.Header, c.Choice.IDs
			rows, dim, first, err := readFirst(t, path, &opt)
			if err != nil || rows != c.Rows || dim != c.Dim || !slices.Equal(first[:len(c.First)], c.First) {
				t.Errorf("%d x %d %v (%v), want %d x %d %v", rows, dim, first, err, c.Rows, c.Dim, c.First)
			}
		})
	}
}
