package report

import (
	"bytes"
	"fmt"
	"html/template"

	"thresher/internal/plot"
	"thresher/verify"
)

// picture is a plot with what it says in words.
type picture struct {
	SVG  template.HTML
	Text string
}

// draw draws a chart as SVG to stand within a page.
func draw(text string, c plot.Chart) (*picture, error) {
	svg, err := plot.EncodePanel(c)
	if err != nil {
		return nil, err
	}
	if at := bytes.Index(svg, []byte("<svg")); at > 0 { // without the declaration of a file of its own
		svg = svg[at:]
	}
	svg = bytes.Replace(svg, []byte("<svg"), []byte(`<svg aria-hidden="true" focusable="false"`), 1)
	return &picture{SVG: template.HTML(svg), Text: text}, nil //nolint:gosec // our own drawing; names in it are escaped
}

// byRank is the recall of all answers at the ranks; no picture without answers.
func (f *Figures) byRank() (*picture, error) {
	if len(f.Answers) == 0 {
		return nil, nil
	}
	c := plot.Chart{Title: "Recall by rank", XLabel: "rank among the true neighbours", YLabel: "share of them found", FitY: true}
	for i := range f.Answers {
		a := &f.Answers[i]
		s := plot.Series{Name: short(a.Name), Place: i + 1}
		for at, b := range a.Ranks {
			if at == len(c.XNames) {
				c.XNames = append(c.XNames, interval(b.From, b.To))
			}
			if b.Wanted == 0 {
				continue
			}
			share := 1 - float64(b.Missed)/float64(b.Wanted)
			low, high := verify.ShareInterval(share, a.Queries)
			s.X = append(s.X, float64(at))
			s.Mean, s.Low, s.High = append(s.Mean, share), append(s.Low, low), append(s.High, high)
		}
		if s.X != nil {
			c.Series = append(c.Series, s)
		}
	}
	return draw("How often the answers have the nearest true neighbour, those of the next ranks, and so on. The bands are 95% intervals.", c)
}

// byHardness is the recall of all answers by how hard the queries are; no picture if that is not known.
func (f *Figures) byHardness() (*picture, error) {
	c := plot.Chart{Title: "Recall by how hard a query is", XLabel: "vectors left after the first look", YLabel: "recall", FitY: true}
	for i := range f.Answers {
		a := &f.Answers[i]
		s := plot.Series{Name: short(a.Name), Place: i + 1}
		for at, g := range a.Hardness {
			if at == len(c.XNames) {
				c.XNames = append(c.XNames, interval(g.From, g.To))
			}
			s.X = append(s.X, float64(at))
			s.Mean, s.Low, s.High = append(s.Mean, g.Recall), append(s.Low, g.Low), append(s.High, g.High)
		}
		if s.X != nil {
			c.Series = append(c.Series, s)
		}
	}
	if c.Series == nil {
		return nil, nil
	}
	return draw("From the easiest fifth of the queries, on the left, to the hardest: a query is hard if many vectors score nearly as much as its neighbours, so that a first look at part of their coordinates leaves many. The bands are 95% intervals.", c)
}

// funnel is how many vectors each step read; no picture of a dense scan.
func (f *Figures) funnel() (*picture, error) {
	if !f.Search.looked() {
		return nil, nil
	}
	c := plot.Chart{Title: "Vectors read for a query", XLabel: "step", YLabel: "vectors (logarithmic)", LogY: true}
	half, hardest := plot.Series{Name: "median of the queries"}, plot.Series{Name: "a tenth of the queries read as many or more", Kind: plot.Reference}
	for at, s := range f.Search.Funnel {
		c.XNames = append(c.XNames, s.Name)
		half.X, half.Mean = append(half.X, float64(at)), append(half.Mean, float64(max(s.Vectors.Median, 1)))
		hardest.X, hardest.Mean = append(hardest.X, float64(at)), append(hardest.Mean, float64(max(s.Vectors.High, 1)))
	}
	c.Series = []plot.Series{half, hardest}
	return draw("Each step reads only the vectors that the step before it could not rule out.", c)
}

// byTime is recall against the time a query of everything that states one; no picture if nothing but the search does.
func (f *Figures) byTime() (*picture, error) {
	c := plot.Chart{Title: "Recall against the time of a query", XLabel: "milliseconds a query (logarithmic)", YLabel: "recall", FitY: true, LogX: true}
	add := func(name string, place int, seconds, recall float64) {
		c.Series = append(c.Series, plot.Series{Name: name, Kind: plot.Marks, Place: place + 1, X: []float64{seconds * 1e3}, Mean: []float64{recall}})
	}
	if f.Search.Seconds <= 0 {
		return nil, nil
	}
	all := len(f.Answers) // whose colours are those of the other charts
	add("thresher", all, f.Search.Seconds, 1)
	if f.Search.DenseSeconds > 0 {
		add("dense scan", all+1, f.Search.DenseSeconds, 1)
	}
	for i := range f.Answers {
		if a := &f.Answers[i]; a.Seconds > 0 {
			add(short(a.Name), i, a.Seconds, a.Recall)
		}
	}
	if len(c.Series) < 2 {
		return nil, nil
	}
	timed := "thresher finds all true neighbours, and was timed here"
	if f.Search.DenseSeconds > 0 {
		timed = "thresher and the dense scan, which compares a query with every vector, find all true neighbours; they were timed here, turn by turn"
	}
	return draw(fmt.Sprintf("Up and to the left is better. %s, in parts of %d %s. Other times are what the files or the user state.", timed, f.Search.Part, plural(int64(f.Search.Part), "query", "queries")), c)
}

// interval words numbers from one to another.
func interval(from, to int) string {
	if from == to {
		return count(int64(from))
	}
	return count(int64(from)) + "–" + count(int64(to))
}

// short cuts a name that would leave no room for the plot beside it.
func short(name string) string {
	const most = 36
	if letters := []rune(name); len(letters) > most {
		return ".." + string(letters[len(letters)-most+2:])
	}
	return name
}
