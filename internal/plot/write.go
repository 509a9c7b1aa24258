package plot

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Drawn reports whether Write can draw a file of this name: it ends in .png or .svg.
func Drawn(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".svg":
		return true
	}
	return false
}

// Write draws charts, one above the other, into a file that it creates or replaces. The
// charts are checked first: after an error of this package the file is unchanged.
func Write(path string, charts ...Chart) error {
	picture, err := Encode(path, charts...)
	if err != nil {
		return err
	}
	return os.WriteFile(path, picture, 0o644)
}

// Encode returns what Write writes into a file of this name. The same charts give the same bytes.
func Encode(name string, charts ...Chart) ([]byte, error) {
	const width, height = 6.5 * vg.Inch, 3.2 * vg.Inch
	if !Drawn(name) {
		return nil, fmt.Errorf("plot: %s: name ends neither in .png nor in .svg", name)
	}
	if len(charts) == 0 {
		return nil, errors.New("plot: nothing to draw")
	}
	for i := range charts {
		if err := charts[i].check(); err != nil {
			return nil, err
		}
	}
	return encode(name, width, vg.Length(len(charts))*height, func(whole draw.Canvas) error {
		tiles := draw.Tiles{Rows: len(charts), Cols: 1, PadY: 12, PadTop: 8, PadBottom: 8, PadLeft: 8, PadRight: 8}
		for i := range charts {
			if err := charts[i].draw(tiles.At(whole, 0, i), false); err != nil {
				return fmt.Errorf("plot: chart %q: %w", charts[i].Title, err)
			}
		}
		return nil
	})
}

// EncodePanel returns one chart as SVG that is legible on a screen as narrow as a phone's: the legend is below it.
func EncodePanel(c Chart) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	const width, height, line = 4.2 * vg.Inch, 2.7 * vg.Inch, 13
	return encode("panel.svg", width, height+vg.Length(len(c.Series))*line, func(whole draw.Canvas) error {
		return c.draw(draw.Crop(whole, 8, -10, 8, -8), true)
	})
}

// WriteGrid draws a grid into a file that it creates or replaces. After an error of this
// package the file is unchanged.
func WriteGrid(path string, g Grid) error {
	if !Drawn(path) {
		return fmt.Errorf("plot: %s: name ends neither in .png nor in .svg", path)
	}
	if err := g.check(); err != nil {
		return err
	}
	width, height := g.size()
	picture, err := encode(path, width, height, func(whole draw.Canvas) error {
		return g.draw(draw.Crop(whole, 8, -16, 8, -8))
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, picture, 0o644)
}

// encode returns what paint draws, in the form that a file of this name has.
func encode(name string, width, height vg.Length, paint func(draw.Canvas) error) ([]byte, error) {
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	if strings.EqualFold(filepath.Ext(name), ".svg") {
		canvas = vgsvg.New(width, height)
	} else {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(150), vgimg.UseBackgroundColor(color.White))}
	}
	if err := paint(draw.New(canvas)); err != nil {
		return nil, err
	}
	var file bytes.Buffer
	if _, err := canvas.WriteTo(&file); err != nil {
		return nil, fmt.Errorf("plot: %s: %w", name, err)
	}
	if _, ok := canvas.(*vgsvg.Canvas); ok {
		return compact(file.Bytes()), nil
	}
	return file.Bytes(), nil
}
