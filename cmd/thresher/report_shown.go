package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	"thresher/tasks/report"
)

const (
	maxImage = 1 << 20 // bytes of an image file
	maxText  = 300     // characters of a text
)

// shownRows are what a reader sees of vectors and queries besides numbers.
type shownRows struct {
	flags     *reportFlags
	folder    string  // that names of images are relative to
	low, high float64 // of the values of pictures, which are black and white
}

// openDisplay reads the column of --show, and makes what describes vectors and queries.
func (r *reportRun) openDisplay(ctx context.Context) (*report.Display, error) {
	a := r.engine.atoms
	d := &report.Display{}
	if a.names != nil {
		d.ID = a.names.Text
	}
	s := &shownRows{flags: r.flags, folder: filepath.Dir(r.vectors.paths()[0])}
	var vectors, queries *columns.Column
	if r.flags.show != "" {
		c, err := r.readColumns(ctx, r.vectors, []string{r.flags.show}, a.N)
		if err != nil {
			return nil, fmt.Errorf("--show: %w", err)
		}
		vectors = c.All()[0]
		if c, err = columns.Read(ctx, r.queries.paths(), []string{r.flags.show}, r.queries.columnOptions()); err == nil && int64(c.Rows()) == r.total {
			queries = c.All()[0]
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if r.flags.pixels != "" {
		s.low, s.high = valueRange(a.block)
	}
	d.Vector = func(row int64) (report.Shown, error) { return s.of(vectors, row, a.block.Given(int(row))) }
	d.Query = func(number int64, values []float64) (report.Shown, error) { return s.of(queries, number, values) }
	return d, nil
}

// valueRange returns the least and the greatest value of some vectors.
func valueRange(c *collection.Collection) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := 0; i < c.N; i += 1 + c.N/1000 {
		given := c.Given(i)
		low, high = min(low, slices.Min(given)), max(high, slices.Max(given))
	}
	return low, high
}

// of returns what is seen of a row of a column, nil without, and of the values of its vector.
func (s *shownRows) of(column *columns.Column, row int64, values []float64) (report.Shown, error) {
	var shown report.Shown
	if column != nil {
		shown.Text = textOf(column.Value(int(row)))
		var err error
		if shown.Image, err = s.imageOf(shown.Text); err != nil {
			return shown, err
		}
		if letters := []rune(shown.Text); len(letters) > maxText {
			shown.Text = string(letters[:maxText]) + " .."
		}
	}
	if s.flags.pixels == "" {
		return shown, nil
	}
	var err error
	shown.Image, err = s.picture(values)
	return shown, err
}

// textOf is a value as text; "" if there is none.
func textOf(v dataset.Value) string {
	switch v.Kind {
	case dataset.NullValue:
		return ""
	case dataset.ListValue:
		return strings.Join(v.Texts, ", ")
	case dataset.TextValue:
		return v.Text
	case dataset.BoolValue:
		return strconv.FormatBool(v.Integer != 0)
	case dataset.FloatValue:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case dataset.SingleValue:
		return strconv.FormatFloat(v.Float, 'g', -1, 32)
	case dataset.TimeValue:
		return time.UnixMicro(v.Integer).UTC().Format(time.RFC3339Nano)
	}
	return strconv.FormatInt(v.Integer, 10)
}

// imageOf returns the image that a text names as a data URI; "" if it names none.
func (s *shownRows) imageOf(text string) (string, error) {
	switch strings.ToLower(filepath.Ext(text)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
	default:
		return "", nil
	}
	path := text
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.folder, path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("--show: %w", err)
	case err != nil:
		return "", nil // a title may end so, also one that can be no name of a file
	case !info.Mode().IsRegular() || info.Size() > maxImage:
		return "", nil
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("--show: %w", err)
	}
	kind := http.DetectContentType(file)
	if !strings.HasPrefix(kind, "image/") {
		return "", nil
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(file), nil
}

// picture draws the values of a vector as a PNG.
func (s *shownRows) picture(values []float64) (string, error) {
	f := s.flags
	img := image.NewNRGBA(image.Rect(0, 0, f.width, f.height))
	level := func(at int) uint8 {
		x := (values[at] - s.low) / max(s.high-s.low, math.SmallestNonzeroFloat32)
		return uint8(math.Round(255 * min(1, max(0, x))))
	}
	for y := range f.height {
		for x := range f.width {
			at := (y*f.width + x) * f.depth
			c := color.NRGBA{A: 255, R: level(at)}
			c.G, c.B = c.R, c.R
			if f.depth == 3 {
				c.G, c.B = level(at+1), level(at+2)
			}
			img.SetNRGBA(x, y, c)
		}
	}
	var file bytes.Buffer
	if err := png.Encode(&file, img); err != nil {
		return "", err
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(file.Bytes()), nil
}
