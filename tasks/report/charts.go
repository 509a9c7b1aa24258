package report

import (
	"bytes"
	"fmt"
	"html/template"
	"math"

	"thresher/internal/plot"
	"thresher/verify"
)

// picture is a plot with what it says in words.
type picture struct {
	SVG  template.HTML
	Text string
}

// draw draws a chart as SVG to stand within a page.
func draw(text string, c plot.Chart) (picture, error) {
	svg, err := plot.Encode("chart.svg", c)
	if err != nil {
		return picture{}, err
	}
	if at := bytes.Index(svg, []byte("<svg")); at > 0 { // without the declaration of a file of its own
		svg = svg[at:]
	}
	svg = bytes.Replace(svg, []byte("<svg"), []byte(`<svg aria-hidden="true" focusable="false"`), 1)
	return picture{SVG: template.HTML(svg), Text: text}, nil //nolint:gosec // our own drawing; names in it are escaped
}

// byRank is the recall of all answers at the ranks.
func (f *Figures) byRank() (picture, error) {
	c := plot.Chart{Title: "Recall by rank, with 95% intervals", XLabel: "rank among the true neighbours", YLabel: "share found", FitY: true, LogX: f.maxK() > 10}
	for i := range f.Answers {
		a := &f.Answers[i]
		s := plot.Series{Name: short(a.Name)}
		for _, b := range a.Ranks {
			if b.Wanted == 0 {
				continue
			}
			share := 1 - float64(b.Missed)/float64(b.Wanted)
			low, high := verify.ShareInterval(share, a.Queries)
			s.X = append(s.X, math.Sqrt(float64(b.From)*float64(b.To)))
			s.Mean, s.Low, s.High = append(s.Mean, share), append(s.Low, low), append(s.High, high)
		}
		c.Series = append(c.Series, s)
	}
	return draw("The share of the true neighbours of each rank that the answers have.", c)
}

// byHardness is the recall of all answers by how hard the queries are; no picture if that is not known.
func (f *Figures) byHardness() (*picture, error) {
	c := plot.Chart{Title: "Recall by how hard a query is, with 95% intervals", XLabel: "vectors left after the first look (median of a fifth of the queries)", YLabel: "recall", FitY: true, LogX: true}
	for i := range f.Answers {
		a := &f.Answers[i]
		s := plot.Series{Name: short(a.Name)}
		for _, g := range a.Hardness {
			s.X = append(s.X, math.Sqrt(float64(max(g.From, 1))*float64(max(g.To, 1))))
			s.Mean, s.Low, s.High = append(s.Mean, g.Recall), append(s.Low, g.Low), append(s.High, g.High)
		}
		if s.X != nil {
			c.Series = append(c.Series, s)
		}
	}
	if c.Series == nil {
		return nil, nil
	}
	p, err := draw("A query is called hard if many vectors are left after the first look, because they score nearly as much as its neighbours.", c)
	return &p, err
}

// funnel is how many vectors were left as more was read.
func (f *Figures) funnel() (picture, error) {
	c := plot.Chart{Title: "Vectors left for a query", XLabel: "coordinates read of a vector", YLabel: "vectors left", LogY: true}
	half, hardest := plot.Series{Name: "half of the queries"}, plot.Series{Name: "hardest tenth", Kind: plot.Reference}
	read := 0 // more by looks than there are coordinates, if the rotation made some
	for _, s := range f.Search.Funnel {
		read = max(read, s.Coordinates)
		half.X, half.Mean = append(half.X, float64(read)), append(half.Mean, float64(max(s.Left.Median, 1)))
		hardest.X, hardest.Mean = append(hardest.X, float64(read)), append(hardest.Mean, float64(max(s.Left.High, 1)))
	}
	c.Series = []plot.Series{half, hardest}
	return draw("How few vectors are left after looking at some coordinates of all: only those are read further.", c)
}

// byTime is recall against the time a query of everything that states one; no picture if nothing but the search does.
func (f *Figures) byTime() (*picture, error) {
	c := plot.Chart{Title: "Recall against the time of a query", XLabel: "ms a query", YLabel: "recall", FitY: true, LogX: true}
	add := func(name string, seconds, recall float64) {
		c.Series = append(c.Series, plot.Series{Name: name, Kind: plot.Marks, X: []float64{seconds * 1e3}, Mean: []float64{recall}})
	}
	if f.Search.Seconds <= 0 {
		return nil, nil
	}
	add("thresher", f.Search.Seconds, 1)
	if f.Search.DenseSeconds > 0 {
		add("dense scan", f.Search.DenseSeconds, 1)
	}
	for i := range f.Answers {
		if a := &f.Answers[i]; a.Seconds > 0 {
			add(short(a.Name), a.Seconds, a.Recall)
		}
	}
	if len(c.Series) < 2 {
		return nil, nil
	}
	p, err := draw(fmt.Sprintf("Up and to the left is better. thresher and the dense scan were timed here, turn by turn, in parts of %d queries; other times are what the files or the user state.", f.Search.Part), c)
	return &p, err
}

// maxK is the greatest k of answers.
func (f *Figures) maxK() int {
	k := 0
	for i := range f.Answers {
		k = max(k, f.Answers[i].RecallSummary.K)
	}
	return k
}

// short cuts a name that would leave no room for the plot beside it.
func short(name string) string {
	const most = 24
	if letters := []rune(name); len(letters) > most {
		return ".." + string(letters[len(letters)-most+2:])
	}
	return name
}
