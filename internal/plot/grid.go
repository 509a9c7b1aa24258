package plot

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// MaxArms is the number of rows that a Grid may have.
const MaxArms = 200

// Grid is a picture of who beats whom: a cell for each pair, coloured by the share that the
// row won against the column. It is blue above 1/2 and orange below, and grey without duels.
type Grid struct {
	Title string
	Names []string  // of 2 to MaxArms arms, the best first
	Wins  [][]int64 // [i][j]: how often arm i won against arm j, not negative
}

// maxWritten is the number of arms up to which cells have numbers.
const maxWritten = 16

func (g *Grid) check() error {
	k := len(g.Names)
	if k < 2 || k > MaxArms || len(g.Wins) != k {
		return fmt.Errorf("plot: %d rows of %d arms; 2 to %d", len(g.Wins), k, MaxArms)
	}
	for i, row := range g.Wins {
		if len(row) != k {
			return fmt.Errorf("plot: row %d has %d counts, not %d", i, len(row), k)
		}
		for j, w := range row {
			if w < 0 {
				return fmt.Errorf("plot: row %d, column %d: %d wins", i, j, w)
			}
		}
	}
	return nil
}

// size is the width and height of the picture.
func (g *Grid) size() (w, h vg.Length) {
	side := vg.Length(len(g.Names)) * .55 * vg.Inch
	side = min(max(side, 2.4*vg.Inch), 9*vg.Inch)
	return side + 2.4*vg.Inch, side + 2.0*vg.Inch
}

// Dims, Z, X and Y are of plotter.GridXYZ: the first arm is at the top left.
func (g *Grid) Dims() (c, r int) { return len(g.Names), len(g.Names) }

// Z returns the share that the arm of row r from below won against that of column c.
func (g *Grid) Z(c, r int) float64 {
	i := len(g.Names) - 1 - r
	won, lost := g.Wins[i][c], g.Wins[c][i]
	if i == c || won+lost == 0 {
		return math.NaN()
	}
	return float64(won) / float64(won+lost)
}

// X returns the place of a column.
func (g *Grid) X(c int) float64 { return float64(c) }

// Y returns the place of a row.
func (g *Grid) Y(r int) float64 { return float64(r) }

// shades go from orange over white to blue, which are distinguishable with colour blindness.
type shades struct{}

func (shades) Colors() []color.Color {
	const half = 50
	mix := func(to color.NRGBA, x float64) color.Color {
		part := func(c uint8) uint8 { return uint8(math.Round(255 + (float64(c)-255)*x)) }
		return color.NRGBA{part(to.R), part(to.G), part(to.B), 255}
	}
	var all []color.Color
	for i := -half; i <= half; i++ {
		to := color.NRGBA{0, 114, 178, 255}
		if i < 0 {
			to = color.NRGBA{213, 94, 0, 255}
		}
		all = append(all, mix(to, math.Abs(float64(i))/half))
	}
	return all
}

// short cuts long names.
func short(name string) string {
	const most = 22
	letters := []rune(strings.ToValidUTF8(name, "?"))
	if len(letters) <= most {
		return string(letters)
	}
	return string(letters[:most-2]) + ".."
}

func (g *Grid) draw(canvas draw.Canvas) error {
	p := gonum.New()
	p.Title.Text, p.Title.Padding = g.Title, 8
	p.X.Label.Text, p.Y.Label.Text = "blue: the row wins, orange: the column; below the share: duels", ""
	k := len(g.Names)
	across, down := make(gonum.ConstantTicks, k), make(gonum.ConstantTicks, k)
	for i, name := range g.Names {
		across[i] = gonum.Tick{Value: float64(i), Label: short(name)}
		down[i] = gonum.Tick{Value: float64(k - 1 - i), Label: short(name)}
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = across, down
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YTop
	size := vg.Length(min(10, max(4, 600/k)))
	p.Title.TextStyle.Font.Variant, p.Title.TextStyle.Font.Size = "Sans", 11
	p.X.Label.TextStyle.Font.Variant, p.X.Label.TextStyle.Font.Size = "Sans", 9
	for _, a := range []*gonum.Axis{&p.X, &p.Y} {
		a.Tick.Label.Font.Variant, a.Tick.Label.Font.Size = "Sans", min(size, 9)
		a.Tick.Length, a.LineStyle.Width = 0, 0
	}
	cells := plotter.NewHeatMap(g, shades{})
	cells.Min, cells.Max, cells.NaN = 0, 1, color.NRGBA{225, 225, 225, 255}
	p.Add(cells)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -.5, float64(k)-.5, -.5, float64(k)-.5
	if k <= maxWritten {
		if err := g.write(p); err != nil {
			return err
		}
	}
	p.Draw(canvas)
	return nil
}

// write adds the share and the number of duels to each cell.
func (g *Grid) write(p *gonum.Plot) error {
	k := len(g.Names)
	var text plotter.XYLabels
	for r := range k {
		for c := range k {
			x := g.Z(c, r)
			if math.IsNaN(x) {
				continue
			}
			i := k - 1 - r
			text.XYs = append(text.XYs, plotter.XY{X: float64(c), Y: float64(r)})
			text.Labels = append(text.Labels, fmt.Sprintf("%.2f\n%s", x, label(float64(g.Wins[i][c]+g.Wins[c][i]))))
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
		s.Font.Variant, s.Font.Size, s.XAlign, s.YAlign = "Sans", 8, draw.XCenter, draw.YCenter
		if x := g.Z(int(text.XYs[i].X), int(text.XYs[i].Y)); x < .15 || x > .85 {
			s.Color = color.White
		}
	}
	p.Add(labels)
	return nil
}
