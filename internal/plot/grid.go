package plot

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
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

// size is the width and height of the picture, in which rows are no lower than small letters.
func (g *Grid) size() (w, h vg.Length) {
	k := vg.Length(len(g.Names))
	side := min(max(k*.55*vg.Inch, 2.4*vg.Inch), max(9*vg.Inch, k*6))
	return side + 2.4*vg.Inch, side + 1.2*vg.Inch
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

// short cuts long names in the middle, because the first and the last letters of names differ most often.
func short(name string) string {
	const most = 22
	letters := []rune(strings.ToValidUTF8(name, "?"))
	if len(letters) <= most {
		return string(letters)
	}
	const kept = (most - 2) / 2
	return string(letters[:kept]) + ".." + string(letters[len(letters)-kept:])
}

// draw fills a canvas. Rows have the names of their arms beside them, and columns below if all names fit there, else numbers
// that the rows have too.
func (g *Grid) draw(canvas draw.Canvas) error {
	p := gonum.New()
	for _, f := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font} {
		f.Variant, f.Size = "Sans", 9
	}
	p.Title.TextStyle.Font.Size, p.Title.Padding = 11, 8
	p.X.Tick.Length, p.X.LineStyle.Width, p.X.Padding = 0, 0, 2
	p.Y.Tick.Length, p.Y.LineStyle.Width, p.Y.Padding = 0, 0, 2
	k := len(g.Names)
	width, height := canvas.Max.X-canvas.Min.X, canvas.Max.Y-canvas.Min.Y
	style := &p.Y.Tick.Label
	if cell := (height - 80) / vg.Length(k); cell < 12 {
		style.Font.Size = .75 * cell
		p.X.Tick.Label.Font.Size = max(5, style.Font.Size)
	}
	names := make([]string, k)
	for i, name := range g.Names {
		names[i] = short(name)
	}
	cell := (width - widest(style, names) - 20) / vg.Length(k)
	below, step := names, 1
	if widest(&p.X.Tick.Label, names) > cell-3 {
		below = make([]string, k)
		for i := range names {
			below[i] = strconv.Itoa(i + 1)
			names[i] = below[i] + "  " + names[i]
		}
		cell = (width - widest(style, names) - 20) / vg.Length(k)
		step = max(1, int(math.Ceil(float64((widest(&p.X.Tick.Label, below)+3)/cell))))
	}
	across, down := make(gonum.ConstantTicks, 0, k), make(gonum.ConstantTicks, k)
	for i := range k {
		down[i] = gonum.Tick{Value: float64(k - 1 - i), Label: names[i]}
		if i%step == 0 {
			across = append(across, gonum.Tick{Value: float64(i), Label: below[i]})
		}
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = across, down
	p.Title.Text = wrapped(p.Title.TextStyle, g.Title, width)
	note := "blue: the row wins, orange: the column"
	if k <= maxWritten {
		note += "; below the share: duels"
	}
	p.X.Label.Text = wrapped(p.X.Label.TextStyle, note, cell*vg.Length(k))
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

// widest is the width of the widest text.
func widest(style *draw.TextStyle, texts []string) (width vg.Length) {
	for _, text := range texts {
		width = max(width, style.Width(text))
	}
	return width
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
