package report

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": percent, "count": count, "duration": duration, "score": score, "scoreWord": scoreWord,
	"vectors": func(n int) string { return count(int64(n)) },
	"image":   func(uri string) template.URL { return template.URL(uri) }, //nolint:gosec // made by the caller of Write
	"share":   func(s Spread, n int64) string { return percent(float64(s.Median) / float64(max(n, 1))) },
}).Parse(pageText))

// view is what the page shows.
type view struct {
	*Figures
	Lead    string
	Certain []string
	// Plots, in the order of the page; those that there are no figures for are nil.
	ByRank, ByHardness, Funnel, ByTime *picture
	Compared                           []compared
}

// compared is a row of the table of answers.
type compared struct {
	*Answers
	Why []string
}

// Write writes the report as one HTML page, which needs no other file and no network.
func Write(w io.Writer, f *Figures) error {
	v := view{Figures: f, Lead: Lead(f), Certain: f.certain()}
	for i := range f.Answers {
		v.Compared = append(v.Compared, compared{&f.Answers[i], f.Answers[i].why()})
	}
	for _, p := range []struct {
		to   **picture
		draw func() (*picture, error)
	}{{&v.ByRank, f.byRank}, {&v.ByHardness, f.byHardness}, {&v.ByTime, f.byTime}, {&v.Funnel, f.funnel}} {
		var err error
		if *p.to, err = p.draw(); err != nil {
			return err
		}
	}
	return page.Execute(w, v)
}
