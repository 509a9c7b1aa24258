package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func sample() Chart {
	return Chart{
		Title: "means", XLabel: "arms", YLabel: "regret", LogX: true, LogY: true,
		Series: []Series{
			{Name: "one & two", X: []float64{100, 10, 1}, Mean: []float64{20000, 1500, 90}, SD: []float64{9000, 1600, 10}},
			{Name: "alone", X: []float64{10}, Mean: []float64{300}, SD: []float64{50}},
			{Name: "bare", X: []float64{1, 100}, Mean: []float64{100, 100}},
		},
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	linear := sample()
	linear.LogX, linear.LogY, linear.Title = false, false, "linear"
	picture := filepath.Join(dir, "chart.PNG")
	if err := Write(picture, sample(), linear); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(file)); err != nil {
		t.Error(err)
	}
	drawing := filepath.Join(dir, "chart.svg")
	if err := Write(drawing, sample(), linear); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(drawing)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">means<", ">linear<", ">arms<", ">regret<", ">one &amp; two<", ">alone<", ">10k<", ">100<"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the drawing has no %s", want)
		}
	}
}

// The axis contains the whole band, with both edges.
func TestBandIsDrawn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "band.svg")
	c := Chart{Series: []Series{{Name: "wide", X: []float64{1, 2}, Mean: []float64{100, 100}, SD: []float64{900, 850}}}}
	if err := Write(file, c); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">1k<", ">-1k<"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the axis does not reach %s", want)
		}
	}
}

// A chart that cannot be drawn is refused, and the file is not changed.
func TestRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chart.svg")
	if err := os.WriteFile(file, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Chart){
		"no series":                   func(c *Chart) { c.Series = nil },
		"3 values of X, 2 means":      func(c *Chart) { c.Series[0].Mean = c.Series[0].Mean[:2] },
		"2 standard deviations":       func(c *Chart) { c.Series[0].SD = c.Series[0].SD[:2] },
		"0 values of X":               func(c *Chart) { c.Series[1] = Series{} },
		"point 1: NaN at 10":          func(c *Chart) { c.Series[0].Mean[1] = math.NaN() },
		"point 2: 90 at +Inf":         func(c *Chart) { c.Series[0].X[2] = math.Inf(1) },
		"standard deviation -1":       func(c *Chart) { c.Series[0].SD[0] = -1 },
		"point 0: 0 at 10 is not on":  func(c *Chart) { c.Series[1].Mean[0] = 0 },
		"point 0: 100 at 0 is not on": func(c *Chart) { c.Series[2].X[0] = 0 },
	} {
		c := sample()
		change(&c)
		if err := Write(file, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := Write(file); err == nil {
		t.Error("no charts were drawn")
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "before" {
		t.Errorf("%q, %v", text, err)
	}
	if err := Write(filepath.Join(filepath.Dir(file), "chart.gif"), sample()); err == nil || !strings.Contains(err.Error(), "neither in .png") {
		t.Error(err)
	}
}

func TestTicks(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
	for _, c := range []struct {
		lo, hi float64
		want   []float64
	}{
		{20, 500, []float64{0, 100, 200, 300, 400, 500}},
		{0, 313000, []float64{0, 100000, 200000, 300000, 400000}},
		{1, 2, []float64{1, 1.2, 1.4, 1.6, 1.8, 2}},
		{-3, 9, []float64{-4, -2, 0, 2, 4, 6, 8, 10}},
		{7, 7, []float64{2, 4, 6, 8, 10, 12}},
		{.2, .6000000000000001, []float64{.2, .3, .4, .5, .6}}, // the value of .2 + .4
		{0, 0, []float64{-.6, -.4, -.2, 0, .2, .4, .6}},
	} {
		if got := steps(c.lo, c.hi); !slices.EqualFunc(got, c.want, near) {
			t.Errorf("steps from %g to %g: %v, want %v", c.lo, c.hi, got, c.want)
		}
	}
	for _, c := range []struct {
		lo, hi float64
		want   []float64
	}{
		{20, 500, []float64{20, 50, 100, 200, 500}},
		{1, 1, []float64{1, 2}},
		{.7, 3, []float64{.5, 1, 2, 5}},
		{30, 2e5, []float64{10, 100, 1000, 1e4, 1e5, 1e6}},
	} {
		if got := ladder(c.lo, c.hi); !slices.EqualFunc(got, c.want, near) {
			t.Errorf("ladder from %g to %g: %v, want %v", c.lo, c.hi, got, c.want)
		}
	}
	for v, want := range map[float64]string{0: "0", .1: "0.1", 20: "20", 1500: "1.5k", 2e5: "200k", 7.5e6: "7.5M", 1e10: "1e+10", -2000: "-2k"} {
		if got := label(v); got != want {
			t.Errorf("%g is labelled %s, want %s", v, got, want)
		}
	}
}

// A grid names arms and writes the share and the number of duels of each pair; counts that
// do not fit are refused.
func TestWriteGrid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grid.svg")
	g := Grid{Title: "who", Names: []string{"first", "second <&>"}, Wins: [][]int64{{0, 30}, {10, 0}}}
	if err := WriteGrid(file, g); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">who<", ">first<", ">second &lt;&amp;&gt;<", ">0.75<", ">0.25<", ">40<"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the drawing has no %s", want)
		}
	}
	// Of long names the ends are kept, too; the note speaks of numbers only where cells have some.
	const prefix = "the same long beginning of "
	for k, written := range map[int]bool{2: true, maxWritten: true, maxWritten + 1: false} {
		g := Grid{Wins: make([][]int64, k)}
		for i := range k {
			g.Names, g.Wins[i] = append(g.Names, prefix+strconv.Itoa(100+i)), make([]int64, k)
		}
		if err := WriteGrid(file, g); err != nil {
			t.Fatal(err)
		}
		if text, err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(text, []byte("duels")); got != written {
			t.Errorf("%d arms: the note speaks of duels: %t", k, got)
		}
		for i := range k {
			if !bytes.Contains(text, []byte("the same l..ing of "+strconv.Itoa(100+i))) {
				t.Errorf("%d arms: arm %d cannot be told from others", k, i)
			}
		}
	}
	for _, bad := range []Grid{{}, {Names: g.Names, Wins: [][]int64{{0, 1}}}, {Names: g.Names, Wins: [][]int64{{0, 1}, {0}}}, {Names: g.Names, Wins: [][]int64{{0, -1}, {0, 0}}}} {
		if err := WriteGrid(file, bad); err == nil {
			t.Errorf("%+v is drawn", bad)
		}
	}
}

// Lines of every kind are drawn together, those of others and references apart from the colours; what cannot be drawn is
// refused.
func TestKinds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kinds.svg")
	half, beyond := .25, 1.5
	c := sample()
	c.Series = append(c.Series, Series{Name: "theirs", Kind: Published, X: []float64{1, 9}, Mean: []float64{3, 4}},
		Series{Kind: Reference, X: []float64{1, 9}, Mean: []float64{1, 9}}, Series{Name: "dots", Kind: Marks, X: []float64{1, 9}, Mean: []float64{1, 9}},
		Series{Name: "shaded", Shade: &half, X: []float64{1, 9}, Mean: []float64{1, 9}})
	looks := c.looks()
	if looks[3].colour != grey || looks[4].colour != black || looks[4].mark != nil || looks[5].joined || !looks[0].joined {
		t.Errorf("%+v", looks)
	}
	if want := (color.NRGBA{75, 132, 164, 255}); looks[6].colour != want {
		t.Errorf("shade %g is %v, want %v", half, looks[6].colour, want)
	}
	seen := map[color.NRGBA]bool{}
	for _, l := range []look{looks[0], looks[1], looks[2], looks[5]} {
		if seen[l.colour] {
			t.Errorf("two lines are %v", l.colour)
		}
		seen[l.colour] = true
	}
	if err := Write(file, c, Chart{Title: "cells", Heat: &Heat{Columns: []string{"a", "b"}, Rows: []string{"r"}, Values: [][]float64{{-1.5, math.NaN()}}}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">theirs<", ">dots<", ">shaded<", ">cells<", ">-1.5<", ">r<"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the drawing has no %s", want)
		}
	}
	for want, bad := range map[string]Chart{
		"shade 1.5":              {Series: []Series{{Shade: &beyond, X: []float64{1}, Mean: []float64{1}}}},
		"kind 7":                 {Series: []Series{{Kind: 7, X: []float64{1}, Mean: []float64{1}}}},
		"without cells":          {Heat: &Heat{}},
		"row 0: 1 values":        {Heat: &Heat{Columns: []string{"a", "b"}, Rows: []string{"r"}, Values: [][]float64{{1}}}},
		"row 0, column 0: +Inf":  {Heat: &Heat{Columns: []string{"a"}, Rows: []string{"r"}, Values: [][]float64{{math.Inf(1)}}}},
		"0 rows of values, 1 na": {Heat: &Heat{Columns: []string{"a"}, Rows: []string{"r"}}},
	} {
		if err := Write(file, bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A title wider than its chart is broken between words, and one that fits is not.
func TestLongTitle(t *testing.T) {
	file := filepath.Join(t.TempDir(), "title.svg")
	c := sample()
	c.Title = strings.Repeat("many words ", 12) + "end"
	if err := Write(file, c); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(">"+c.Title+"<")) || !bytes.Contains(text, []byte("end<")) || !bytes.Contains(text, []byte(">many words many")) {
		t.Error("the title is in one line, or is cut")
	}
	c.Title = "many words"
	if err := Write(file, c); err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(file); err != nil || !bytes.Contains(text, []byte(">many words<")) {
		t.Errorf("a short title is broken: %v", err)
	}
}

// A legend of many series stays within its chart, in smaller letters.
func TestLongLegend(t *testing.T) {
	many := func(n int) Chart {
		c := Chart{Title: "many"}
		for i := range n {
			c.Series = append(c.Series, Series{Name: strings.Repeat("s", i+1), X: []float64{1, 2}, Mean: []float64{1, 2}})
		}
		return c
	}
	lowest := func(n int) (lowest float64) {
		file := filepath.Join(t.TempDir(), "legend.svg")
		if err := Write(file, many(n)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lowest = math.Inf(1)
		for _, found := range regexp.MustCompile(`y="(-?[0-9.]+)"[^>]*>s+<`).FindAllSubmatch(text, -1) {
			y, err := strconv.ParseFloat(string(found[1]), 64)
			if err != nil {
				t.Fatal(err)
			}
			lowest = min(lowest, -y) // the axis points down
		}
		return lowest
	}
	if few, all := lowest(3), lowest(22); math.IsInf(few, 1) || few < 50 || all < 0 || all > few {
		t.Errorf("the lowest of 3 names is at %v, of 22 at %v", few, all)
	}
}

// TestPlace: series have the looks of the places that they name, in whichever order they stand, and the marks of a panel are
// filled.
func TestPlace(t *testing.T) {
	c := Chart{Title: "places", XLabel: "x", YLabel: "y"}
	for place := 7; place >= 1; place-- {
		c.Series = append(c.Series, Series{Name: "s", Kind: Marks, Place: place, X: []float64{float64(place)}, Mean: []float64{1}})
	}
	own := (&Chart{Series: make([]Series, 7)}).looks()
	for i, l := range c.looks() {
		if want := own[6-i]; l.colour != want.colour || l.mark != want.mark {
			t.Errorf("place %d is %+v, want %+v", 7-i, l, want)
		}
	}
	svg, err := EncodePanel(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range own {
		fill := fmt.Sprintf("fill:#%02X%02X%02X", l.colour.R, l.colour.G, l.colour.B)
		stroke := strings.Replace(fill, "fill", "stroke", 1)
		if text := string(svg); l.colour != black && (!strings.Contains(text, fill) || strings.Contains(text, stroke)) {
			t.Errorf("no mark has %s, or one has %s, in\n%s", fill, stroke, text)
		}
	}
}
