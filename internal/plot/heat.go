package plot

import (
	"errors"
	"fmt"
	"image/color"
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is a table of values as coloured cells with the value in each: white at 0, blue above, orange below.
type Heat struct {
	Columns, Rows []string    // their names, from left to right and from top to bottom
	Values        [][]float64 // [row][column]; NaN is an empty cell
}

func (h *Heat) check() error {
	if len(h.Columns) == 0 || len(h.Rows) == 0 {
		return errors.New("a table without cells")
	}
	if len(h.Values) != len(h.Rows) {
		return fmt.Errorf("%d rows of values, %d names", len(h.Values), len(h.Rows))
	}
	for i, row := range h.Values {
		if len(row) != len(h.Columns) {
			return fmt.Errorf("row %d: %d values, %d columns", i, len(row), len(h.Columns))
		}
		for j, v := range row {
			if math.IsInf(v, 0) {
				return fmt.Errorf("row %d, column %d: %g", i, j, v)
			}
		}
	}
	return nil
}

// Dims, Z, X and Y are of plotter.GridXYZ, which counts rows from below.
func (h *Heat) Dims() (c, r int) { return len(h.Columns), len(h.Rows) }

// Z returns the value of a cell.
func (h *Heat) Z(c, r int) float64 { return h.Values[len(h.Rows)-1-r][c] }

// X returns the place of a column.
func (h *Heat) X(c int) float64 { return float64(c) }

// Y returns the place of a row.
func (h *Heat) Y(r int) float64 { return float64(r) }

// reach is the greatest distance of a value from 0, at least a little.
func (h *Heat) reach() float64 {
	reach := math.SmallestNonzeroFloat32
	for _, row := range h.Values {
		for _, v := range row {
			if !math.IsNaN(v) {
				reach = math.Max(reach, math.Abs(v))
			}
		}
	}
	return reach
}

func (h *Heat) draw(canvas draw.Canvas, c *Chart) error {
	p := gonum.New()
	p.Title.Padding = 6
	p.X.Label.Text, p.Y.Label.Text = c.XLabel, c.YLabel
	p.Title.TextStyle.Font.Variant, p.Title.TextStyle.Font.Size = "Sans", 11
	p.Title.Text = wrapped(p.Title.TextStyle, c.Title, canvas.Max.X-canvas.Min.X)
	across, down := make(gonum.ConstantTicks, len(h.Columns)), make(gonum.ConstantTicks, len(h.Rows))
	for i, name := range h.Columns {
		across[i] = gonum.Tick{Value: float64(i), Label: name}
	}
	for i, name := range h.Rows {
		down[i] = gonum.Tick{Value: float64(len(h.Rows) - 1 - i), Label: name}
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = across, down
	for _, a := range []*gonum.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Variant, a.Label.TextStyle.Font.Size = "Sans", 10
		a.Tick.Label.Font.Variant, a.Tick.Label.Font.Size = "Sans", 9
		a.Tick.Length, a.LineStyle.Width = 0, 0
	}
	reach := h.reach()
	cells := plotter.NewHeatMap(h, shades{})
	cells.Min, cells.Max, cells.NaN = -reach, reach, color.NRGBA{225, 225, 225, 255}
	p.Add(cells)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -.5, float64(len(h.Columns))-.5, -.5, float64(len(h.Rows))-.5
	if err := h.write(p, reach); err != nil {
		return err
	}
	p.Draw(canvas)
	return nil
}

// write adds the value to each cell.
func (h *Heat) write(p *gonum.Plot, reach float64) error {
	var text plotter.XYLabels
	for r := range h.Rows {
		for c := range h.Columns {
			if v := h.Z(c, r); !math.IsNaN(v) {
				text.XYs = append(text.XYs, plotter.XY{X: float64(c), Y: float64(r)})
				text.Labels = append(text.Labels, fmt.Sprintf("%.3g", v))
			}
		}
	}
	if len(text.Labels) == 0 {
		return nil
	}
	labels, err := plotter.NewLabels(text)
	if err != nil {
		return err
	}
	for i := range labels.TextStyle {
		s := &labels.TextStyle[i]
		s.Font.Variant, s.Font.Size, s.XAlign, s.YAlign = "Sans", vg.Points(8), draw.XCenter, draw.YCenter
		if math.Abs(h.Z(int(text.XYs[i].X), int(text.XYs[i].Y))) > .7*reach {
			s.Color = color.White
		}
	}
	p.Add(labels)
	return nil
}
