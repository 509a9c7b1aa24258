package plot

import (
	"image/color"
	"math"
	"strings"

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
	width  vg.Length
	mark   draw.GlyphDrawer // nil: none
	radius vg.Length
	dashes []vg.Length
	joined bool // by a line
}

var (
	blue   = color.NRGBA{0, 114, 178, 255}
	orange = color.NRGBA{213, 94, 0, 255}
	grey   = color.NRGBA{150, 150, 150, 255}
	black  = color.NRGBA{0, 0, 0, 255}
)

// looks returns the look of the series of each place.
func (c *Chart) looks() []look {
	all := make([]look, len(c.Series))
	places := map[Kind]int{}
	for i := range c.Series {
		s := &c.Series[i]
		kind := s.Kind
		if kind == Marks {
			kind = Line // counted together, so that no two have the same colour
		}
		place := places[kind]
		if s.Place > 0 {
			place = s.Place - 1
		}
		all[i] = s.look(place)
		if s.Shade == nil {
			places[kind]++
		}
	}
	return all
}

// look is that of the series at a place among those of its kind.
func (s *Series) look(place int) look {
	colours := []color.NRGBA{blue, orange, {0, 158, 115, 255}, {204, 121, 167, 255}, black, {86, 180, 233, 255}, {230, 159, 0, 255}, {110, 80, 50, 255}}
	marks := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.RingGlyph{}, draw.PlusGlyph{}}
	dashes := [][]vg.Length{nil, {5, 2}, {2, 2}, {6, 2, 2, 2}, {1, 2}}
	l := look{colour: colours[place%len(colours)], width: 1.4, mark: marks[place%len(marks)], radius: 2.5, dashes: dashes[place%len(dashes)], joined: s.Kind != Marks}
	switch {
	case s.Kind == Published:
		l.colour, l.width = grey, 1
	case s.Kind == Reference:
		l.colour, l.width, l.mark, l.dashes = black, .8, nil, []vg.Length{4, 3}
	case s.Shade != nil:
		l.colour, l.width, l.mark, l.radius, l.dashes = shade(*s.Shade), .9, draw.CircleGlyph{}, 1.5, nil
	}
	return l
}

// shade mixes blue, grey and orange.
func shade(x float64) color.NRGBA {
	from, to := blue, grey
	if x *= 2; x > 1 {
		from, to, x = grey, orange, x-1
	}
	part := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (float64(b)-float64(a))*x)) }
	return color.NRGBA{part(from.R, to.R), part(from.G, to.G), part(from.B, to.B), 255}
}

// draw fills a canvas: the chart on the left with the legend to the right of it, or the chart above its legend.
func (c *Chart) draw(canvas draw.Canvas, above bool) error {
	if c.Heat != nil {
		return c.Heat.draw(canvas, c)
	}
	p := gonum.New()
	legend := gonum.NewLegend()
	for _, f := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &legend.TextStyle.Font} {
		f.Variant, f.Size = "Sans", 10
	}
	p.Title.TextStyle.Font.Size, p.Title.Padding = 11, 6
	p.X.Label.Text, p.Y.Label.Text = c.XLabel, c.YLabel
	legend.Top, legend.Left, legend.Padding = true, true, 4
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)

	floor, looks := c.floor(), c.looks()
	for i := range looks {
		if above && c.Series[i].Kind == Marks { // it is smaller on a phone
			looks[i].radius = 3.5
		}
		if above {
			looks[i].mark = filled(looks[i].mark)
		}
	}
	for i := range c.Series {
		if err := c.Series[i].band(p, looks[i], floor); err != nil {
			return err
		}
	}
	for i := range c.Series { // above all bands
		if err := c.Series[i].line(p, &legend, looks[i]); err != nil {
			return err
		}
	}
	if c.XNames != nil {
		nameAxis(&p.X, c.XNames)
		place := (canvas.Max.X - canvas.Min.X - 50) / vg.Length(len(c.XNames)) // beside the labels of the other axis
		// In the fonts of some readers letters are wider.
		for font := &p.X.Tick.Label.Font; font.Size > 5 && widest(&p.X.Tick.Label, c.XNames) > .85*place; {
			font.Size -= .5
		}
	} else {
		scaleAxis(&p.X, p.X.Min, p.X.Max, c.LogX) // gonum has widened them to the added series
	}
	lowest := p.Y.Min
	switch {
	case c.LogY:
	case !c.FitY:
		lowest = math.Min(0, lowest)
	case lowest == p.Y.Max:
		lowest -= max(math.Abs(lowest)/10, math.SmallestNonzeroFloat32)
	}
	scaleAxis(&p.Y, lowest, p.Y.Max, c.LogY)

	if above {
		size := legend.Rectangle(canvas).Size()
		legend.Top = false
		area := draw.Crop(canvas, 0, 0, size.Y+8, 0)
		p.Title.Text = wrapped(p.Title.TextStyle, c.Title, area.Max.X-area.Min.X)
		p.Draw(c.drawLabels(p, area))
		legend.Draw(canvas)
		return nil
	}
	const margin = 24 // between the canvas's upper edge and the legend
	for legend.TextStyle.Font.Size > 5 && legend.Rectangle(canvas).Size().Y > canvas.Max.Y-canvas.Min.Y-margin {
		legend.TextStyle.Font.Size -= .5 // many series: the next chart begins below
	}
	beside := legend.Rectangle(canvas).Size().X + 12
	area := draw.Crop(canvas, 0, -beside, 0, 0)
	p.Title.Text = wrapped(p.Title.TextStyle, c.Title, area.Max.X-area.Min.X)
	p.Draw(c.drawLabels(p, area))
	side := draw.Crop(canvas, canvas.Max.X-canvas.Min.X-beside+12, 0, 0, -margin)
	legend.Draw(side)
	return nil
}

// wrapped breaks a text between words into lines of at most a width.
func wrapped(style draw.TextStyle, text string, width vg.Length) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if line != "" && style.Width(longer) > width {
			lines, longer = append(lines, line), word
		}
		line = longer
	}
	return strings.Join(append(lines, line), "\n")
}

// drawLabels draws the labels of logarithmic axes at the edges of an area and returns what is left of it. gonum takes such a
// label's middle for that of the values, far towards the axis's end, and leaves space behind that end for it.
func (c *Chart) drawLabels(p *gonum.Plot, area draw.Canvas) draw.Canvas {
	left := area
	x, y := p.X.Label, p.Y.Label
	high := func(l gonum.Axis) vg.Length {
		return l.Label.TextStyle.Height(l.Label.Text) + l.Label.TextStyle.FontExtents().Descent
	}
	if c.LogX {
		left = draw.Crop(left, 0, 0, high(p.X), 0)
		p.X.Label.Text = ""
	}
	if c.LogY {
		left = draw.Crop(left, high(p.Y), 0, 0, 0)
		p.Y.Label.Text = ""
	}
	data := p.DataCanvas(left)
	if c.LogX {
		style := x.TextStyle
		style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
		area.FillText(style, vg.Point{X: (data.Min.X + data.Max.X) / 2, Y: area.Min.Y}, x.Text)
	}
	if c.LogY {
		style := y.TextStyle
		style.XAlign, style.YAlign, style.Rotation = draw.XCenter, draw.YTop, math.Pi/2
		area.FillText(style, vg.Point{X: area.Min.X, Y: (data.Min.Y + data.Max.Y) / 2}, y.Text)
	}
	return left
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
	if s.SD == nil && s.Low == nil {
		return nil
	}
	order := s.order()
	ring := make(plotter.XYs, 2*len(order))
	for place, i := range order {
		low, high := s.ends(i)
		ring[place] = plotter.XY{X: s.X[i], Y: high}
		ring[len(ring)-1-place] = plotter.XY{X: s.X[i], Y: math.Max(floor, low)}
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
	line.LineStyle = draw.LineStyle{Color: l.colour, Width: l.width, Dashes: l.dashes}
	marks.GlyphStyle = draw.GlyphStyle{Color: l.colour, Radius: l.radius, Shape: l.mark}
	var shown []gonum.Thumbnailer
	if l.joined {
		p.Add(line)
		shown = append(shown, line)
	}
	if !l.joined || l.mark != nil && len(means) <= few {
		p.Add(marks)
		shown = append(shown, marks)
	}
	if s.Name != "" {
		legend.Add(s.Name, shown...)
	}
	return nil
}
