package main

import (
	"image/color"
	"os"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// style is the colour of a line and the shape of its marks.
type style struct {
	color color.Color
	mark  draw.GlyphDrawer
}

// series returns the style of the i-th line, distinct for i < 72: colours that most
// colour-blind people can distinguish (Okabe and Ito's first), and marks.
func series(i int) style {
	colors := []color.RGBA{{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
		{230, 159, 0, 255}, {86, 180, 233, 255}, {128, 128, 128, 255}, {102, 51, 0, 255}, {120, 60, 200, 255}}
	marks := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{},
		draw.RingGlyph{}, draw.SquareGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}}
	return style{colors[i%len(colors)], marks[i%len(marks)]}
}

// alone is the style of the line that all series are compared with.
func alone() style { return style{color.Black, draw.CircleGlyph{}} }

// newPlot returns an empty plot with a light grid at the ticks.
func newPlot(title, x, y string, xTicks, yTicks plot.Ticker) *plot.Plot {
	p := plot.New()
	for _, s := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font} {
		s.Variant = "Sans"
		s.Size = 10
	}
	p.Title.TextStyle.Font.Size = 12
	p.Title.Padding = 6
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.X.Tick.Marker, p.Y.Tick.Marker = xTicks, yTicks
	p.Legend.Top = true
	p.Legend.Padding = 2
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	return p
}

// addLine draws a line with marks and names it in the legend.
func addLine(p *plot.Plot, s style, name string, points plotter.XYs) error {
	line, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, dots.Color = s.color, s.color
	line.Width, dots.Radius, dots.Shape = vg.Points(1.5), vg.Points(3), s.mark
	p.Add(line, dots)
	p.Legend.Add(name, line, dots)
	return nil
}

// values ticks exactly these values.
func values(at []float64) plot.ConstantTicks {
	t := make(plot.ConstantTicks, len(at))
	for i, v := range at {
		t[i] = plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', -1, 64)}
	}
	return t
}

// share removes the plots' legends, which are the same, and returns one for all.
func share(plots []*plot.Plot) *plot.Legend {
	legend := plots[0].Legend
	for _, p := range plots {
		p.Legend = plot.NewLegend()
	}
	return &legend
}

// save writes plots side by side, with the legend, if any, to their right, as a PNG of twice
// the usual resolution.
func save(file string, width, height vg.Length, legend *plot.Legend, plots ...*plot.Plot) error {
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(150), vgimg.UseBackgroundColor(color.White))
	whole := draw.New(c)
	if legend != nil {
		at := legend.Rectangle(whole).Size().X + 14
		legend.Draw(draw.Crop(whole, width-at, -14, 0, -30))
		whole = draw.Crop(whole, 0, -at, 0, 0)
	}
	tiles := draw.Tiles{Rows: 1, Cols: len(plots), PadX: 14, PadTop: 8, PadBottom: 8, PadLeft: 8, PadRight: 14}
	for i, p := range plots {
		p.Draw(tiles.At(whole, i, 0))
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(f); err != nil {
		return err
	}
	return f.Close()
}
