package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": percent, "count": count, "duration": duration, "score": func(x float64) string { return fmt.Sprintf("%.5g", x) },
	"image": func(uri string) template.URL { return template.URL(uri) }, //nolint:gosec // made by Picture
	"wide":  func(s Spread, n int64) string { return fmt.Sprintf("%.2f%%", 100*float64(s.Median)/float64(max(n, 1))) },
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
	v := view{Figures: f, Lead: Lead(f), Certain: f.Search.certain()}
	for i := range f.Answers {
		v.Compared = append(v.Compared, compared{&f.Answers[i], f.Answers[i].why()})
	}
	if f.Search.looked() {
		p, err := f.funnel()
		if err != nil {
			return err
		}
		v.Funnel = &p
	}
	if len(f.Answers) > 0 {
		p, err := f.byRank()
		if err != nil {
			return err
		}
		v.ByRank = &p
	}
	var err error
	if v.ByHardness, err = f.byHardness(); err != nil {
		return err
	}
	if v.ByTime, err = f.byTime(); err != nil {
		return err
	}
	return page.Execute(w, v)
}
