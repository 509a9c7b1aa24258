package plot

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	gonum "gonum.org/v1/plot"
)

// box is where a text of a drawing stands, in points from the upper left.
type box struct {
	text                     string
	left, right, top, bottom float64
}

var (
	drawn  = regexp.MustCompile(`(?s)<text x="([^"]+)" y="([^"]+)" transform="[^"]+"\s+style="[^"]*font-size:([0-9.]+)px[^"]*"[^>]*>([^<]*)</text>`)
	turned = regexp.MustCompile(`(?s)<g transform="rotate.*?</g>`)
	canvas = regexp.MustCompile(`viewBox="0 0 ([0-9.]+) ([0-9.]+)"`)
)

// boxesOf are the upright texts of a drawing, and its size.
func boxesOf(t *testing.T, svg string) (all []box, width, height float64) {
	t.Helper()
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	size := canvas.FindStringSubmatch(svg)
	width, height = number(size[1]), number(size[2])
	for _, m := range drawn.FindAllStringSubmatch(turned.ReplaceAllString(svg, ""), -1) {
		letters := number(m[3])
		style := text.Style{Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Length(letters)), Handler: gonum.DefaultTextHandler}
		said := html.UnescapeString(m[4])
		b := box{text: said, left: number(m[1]), bottom: height + number(m[2])} // the drawing points up
		b.right, b.top = b.left+float64(style.Width(said)), b.bottom-.7*letters // no text is taller than its capitals
		all = append(all, b)
	}
	return all, width, height
}

// checkLabels reports texts that overlap or leave the picture.
func checkLabels(t *testing.T, svg string) {
	t.Helper()
	all, width, height := boxesOf(t, svg)
	if len(all) < 3 {
		t.Fatalf("%d texts", len(all))
	}
	for i, a := range all {
		if a.left < 0 || a.right > width || a.top < 0 || a.bottom > height {
			t.Errorf("%q leaves the picture of %g x %g: %+v", a.text, width, height, a)
		}
		for _, b := range all[:i] {
			if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
				t.Errorf("%q and %q overlap: %+v, %+v", a.text, b.text, a, b)
			}
		}
	}
}

// TestGridLabelsDoNotCollide: whatever the number of arms and the length of their names.
func TestGridLabelsDoNotCollide(t *testing.T) {
	for _, k := range []int{2, 6, 16, 17, 60, MaxArms} {
		for _, letters := range []int{1, 60} {
			g := Grid{Title: "share of duels that the row won against the column", Wins: make([][]int64, k)}
			for i := range k {
				g.Names = append(g.Names, strings.Repeat("W", letters-1)+string(rune('a'+i%26)))
				g.Wins[i] = make([]int64, k)
				for j := range k {
					if i != j {
						g.Wins[i][j] = int64(1234567 * (i + 1))
					}
				}
			}
			t.Run(fmt.Sprintf("%d arms of %d letters", k, letters), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "grid.svg")
				if err := WriteGrid(file, g); err != nil {
					t.Fatal(err)
				}
				svg, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				checkLabels(t, string(svg))
			})
		}
	}
}

// TestPanelLabelsDoNotCollide: names of places, of axes and of the legend stand apart.
func TestPanelLabelsDoNotCollide(t *testing.T) {
	for name, c := range map[string]Chart{
		"named places": {
			Title: "Recall by how hard a query is", XLabel: "vectors left after the first look, a fifth of the queries each", YLabel: "recall", FitY: true,
			XNames: []string{"101–1,023", "1,024–2,047", "2,048–4,095", "4,096–8,191", "8,192–99,999"},
			Series: []Series{
				{Name: strings.Repeat("n", 36), X: []float64{0, 1, 2, 3, 4}, Mean: []float64{1, .99, .95, .9, .8}},
				{Name: "other", X: []float64{0, 1, 2, 3, 4}, Mean: []float64{1, 1, 1, .99, .98}},
			},
		},
		"marks on logarithmic axes": {
			Title: "Recall against the time of a query", XLabel: "milliseconds a query (logarithmic)", YLabel: "recall", FitY: true, LogX: true,
			Series: []Series{{Name: "a", Kind: Marks, X: []float64{.01}, Mean: []float64{1}}, {Name: "b", Kind: Marks, X: []float64{90}, Mean: []float64{.2}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			svg, err := EncodePanel(c)
			if err != nil {
				t.Fatal(err)
			}
			checkLabels(t, string(svg))
		})
	}
}

// TestCompact: coordinates are rounded to tenths, and words are left as they are.
func TestCompact(t *testing.T) {
	const svg = `<g transform="scale(1, -1)"><text x="1.2345" y="-0.04" style="font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;font-size:9px">x="1.2345"</text><text x="1" y="-2" transform="scale(1, -1)"
	style="font-size:9px">a &amp; b are named</text>` +
		"\n<path d=\"M8,1630.66L353.29,-1.96Z\" style=\"stroke-width:0.04\" />\n<path d=\"M1,2L3,4\" style=\"stroke-width:0.04\" />\n" +
		"<path d=\"M1,2L3,4\" style=\"fill-opacity:0.2\" />\n<path d=\"M1,2L3,4\" style=\"fill-opacity:0.2\" />\n</g>"
	const want = `<g style="font-family:'Liberation Sans',Arimo,Arial,Helvetica,sans-serif" transform="scale(1, -1)"><text x="1.2" y="0" style="font-size:9px">x="1.2345"</text><text x="1" y="-2" transform="scale(1,-1)" style="font-size:9px" textLength="67" lengthAdjust="spacingAndGlyphs">a &amp; b are named</text>` +
		"\n<path d=\"M8,1630.7L353.3,-2ZM1,2L3,4\" style=\"stroke-width:0.04\" />\n" +
		"<path d=\"M1,2L3,4\" style=\"fill-opacity:0.2\" />\n<path d=\"M1,2L3,4\" style=\"fill-opacity:0.2\" />\n</g>"
	if got := string(compact([]byte(svg))); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
