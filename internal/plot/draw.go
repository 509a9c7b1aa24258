package plot

import (
	"image/color"
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// look is the style of a series: its colour (Okabe and Ito's, which are distinguishable with
// colour blindness), and its mark and dashes, which distinguish it without colours.
type look struct {
	colour color.NRGBA
	mark   draw.GlyphDrawer
	dashes []vg.Length
}

func looks(i int) look {
	all := []look{
		{color.NRGBA{0, 114, 178, 255}, draw.CircleGlyph{}, nil},
		{color.NRGBA{213, 94, 0, 255}, draw.BoxGlyph{}, []vg.Length{5, 2}},
		{color.NRGBA{0, 158, 115, 255}, draw.PyramidGlyph{}, []vg.Length{2, 2}},
		{color.NRGBA{204, 121, 167, 255}, draw.TriangleGlyph{}, []vg.Length{6, 2, 2, 2}},
		{color.NRGBA{0, 0, 0, 255}, draw.CrossGlyph{}, []vg.Length{1, 2}},
	}
	return all[i%len(all)]
}

// draw fills a canvas: the chart on the left, the legend to the right of it.
func (c *Chart) draw(canvas draw.Canvas) error {
	p := gonum.New()
	legend := gonum.NewLegend()
	for _, f := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &legend.TextStyle.Font} {
		f.Variant, f.Size = "Sans", 10
	}
	p.Title.TextStyle.Font.Size, p.Title.Padding = 11, 6
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.XLabel, c.YLabel
	legend.Top, legend.Left, legend.Padding = true, true, 4
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)

	floor := c.floor()
	for i := range c.Series {
		if err := c.Series[i].band(p, looks(i), floor); err != nil {
			return err
		}
	}
	for i := range c.Series { // above all bands
		if err := c.Series[i].line(p, &legend, looks(i)); err != nil {
			return err
		}
	}
	scaleAxis(&p.X, p.X.Min, p.X.Max, c.LogX) // gonum has widened them to the added series
	lowest := p.Y.Min
	if !c.LogY {
		lowest = math.Min(0, lowest)
	}
	scaleAxis(&p.Y, lowest, p.Y.Max, c.LogY)

	beside := legend.Rectangle(canvas).Size().X + 12
	p.Draw(draw.Crop(canvas, 0, -beside, 0, 0))
	side := draw.Crop(canvas, canvas.Max.X-canvas.Min.X-beside+12, 0, 0, -24)
	legend.Draw(side)
	return nil
}

// floor is the lower end of a band that would reach below a logarithmic axis: half of the
// lowest mean.
func (c *Chart) floor() float64 {
	if !c.LogY {
		return math.Inf(-1)
	}
	least := math.Inf(1)
	for _, s := range c.Series {
		for _, y := range s.Mean {
			least = math.Min(least, y)
		}
	}
	return least / 2
}

// band draws the band of a series. Its edge is a thin line, so that a single point has a
// visible band.
func (s *Series) band(p *gonum.Plot, l look, floor float64) error {
	if s.SD == nil {
		return nil
	}
	order := s.order()
	ring := make(plotter.XYs, 2*len(order))
	for place, i := range order {
		ring[place] = plotter.XY{X: s.X[i], Y: s.Mean[i] + s.SD[i]}
		ring[len(ring)-1-place] = plotter.XY{X: s.X[i], Y: math.Max(floor, s.Mean[i]-s.SD[i])}
	}
	band, err := plotter.NewPolygon(ring)
	if err != nil {
		return err
	}
	fill := l.colour
	fill.A = 50
	band.Color, band.LineStyle = fill, draw.LineStyle{Color: l.colour, Width: vg.Points(.4)}
	p.Add(band)
	return nil
}

// line draws the means, with marks while there are few.
func (s *Series) line(p *gonum.Plot, legend *gonum.Legend, l look) error {
	const few = 40
	means := make(plotter.XYs, 0, len(s.X))
	for _, i := range s.order() {
		means = append(means, plotter.XY{X: s.X[i], Y: s.Mean[i]})
	}
	line, marks, err := plotter.NewLinePoints(means)
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: l.colour, Width: vg.Points(1.4), Dashes: l.dashes}
	marks.GlyphStyle = draw.GlyphStyle{Color: l.colour, Radius: vg.Points(2.5), Shape: l.mark}
	p.Add(line)
	if len(means) > few {
		legend.Add(s.Name, line)
		return nil
	}
	p.Add(marks)
	legend.Add(s.Name, line, marks)
	return nil
}
