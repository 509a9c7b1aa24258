package main

import (
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// draw writes one panel above the other, in the order of the points.
func draw(points []point, out string) error {
	const width, height = 5 * vg.Inch, 3.2 * vg.Inch
	var panels []string
	for _, p := range points {
		if !slices.Contains(panels, p.panel) {
			panels = append(panels, p.panel)
		}
	}
	all := vg.Length(len(panels)) * height
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch filepath.Ext(out) {
	case ".svg":
		canvas = vgsvg.New(width, all)
	case ".png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, all), vgimg.UseDPI(150), vgimg.UseBackgroundColor(color.White))}
	default:
		return fmt.Errorf("%s: name ends neither in .png nor in .svg", out)
	}
	tiles := vgdraw.Tiles{Rows: len(panels), Cols: 1, PadY: 12, PadTop: 8, PadBottom: 8, PadLeft: 8, PadRight: 12}
	for i, panel := range panels {
		p, err := plotPanel(points, panel)
		if err != nil {
			return err
		}
		p.Draw(tiles.At(vgdraw.New(canvas), 0, i))
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := canvas.WriteTo(f); err != nil {
		return err
	}
	return f.Close()
}

// series is a line with error bars.
type series struct {
	plotter.XYs
	plotter.YErrors
}

// plotPanel draws the points of a panel, a line for each algorithm.
func plotPanel(points []point, panel string) (*plot.Plot, error) {
	p := plot.New()
	p.Y.Label.Text = "regret"
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	var algorithms []string
	lines := map[string]*series{}
	for _, at := range points {
		if at.panel != panel {
			continue
		}
		p.X.Label.Text = at.axis
		line := lines[at.algorithm]
		if line == nil {
			line = &series{}
			lines[at.algorithm] = line
			algorithms = append(algorithms, at.algorithm)
		}
		line.XYs = append(line.XYs, plotter.XY{X: at.x, Y: at.regret})
		line.YErrors = append(line.YErrors, struct{ Low, High float64 }{at.deviation, at.deviation})
	}
	// Two colours that the colour-blind tell apart (Okabe and Ito).
	colours := []color.Color{color.RGBA{230, 159, 0, 255}, color.RGBA{0, 114, 178, 255}}
	for i, name := range algorithms {
		line, marks, err := plotter.NewLinePoints(lines[name].XYs)
		if err != nil {
			return nil, err
		}
		bars, err := plotter.NewYErrorBars(lines[name])
		if err != nil {
			return nil, err
		}
		colour := colours[i%len(colours)]
		line.Color, marks.Color, bars.Color = colour, colour, colour
		marks.Shape = vgdraw.CircleGlyph{}
		p.Add(line, marks, bars)
		p.Legend.Add(name, line, marks)
	}
	return p, nil
}
