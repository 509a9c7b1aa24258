package demo

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// lineWidth is the most characters a line may have.
const lineWidth = 100

// shown is the number of answers printed for each usual question; a user's own questions
// print all.
const shown = 4

// printer writes the parts of a demo; the first error is kept.
type printer struct {
	w     io.Writer
	short bool // print the first few answers only
	err   error
}

// line writes one line, cut to the width.
func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, clip(strings.TrimRight(fmt.Sprintf(format, args...), " "), lineWidth))
	}
}

func (p *printer) loaded(r *Report) {
	p.line("Texts: %s doc comments of the standard library of %s, each a vector of %s coordinates.",
		thousands(r.Atoms), r.Go, thousands(r.Dimension))
	p.line("From %s, %s (thresher demo --license).", r.Source, r.License)
	p.line("Read in %s, words weighed (tf-idf) in %s, made ready in %s; %s on %d threads.",
		seconds(r.LoadSeconds), seconds(r.VectorSeconds), seconds(r.BuildSeconds), r.Backend, r.Threads)
}

func (p *printer) questions(r *Report) {
	p.line("")
	p.line("== Questions in plain words ==")
	p.line("The score is the cosine of two texts' weighted words: 1 = alike in every word, 0 = in none.")
	for _, q := range r.Questions {
		p.line("")
		if q.Unknown {
			p.line("%q: no word of it occurs in any comment.", q.Query)
			continue
		}
		p.line("%q", q.Query)
		hits := q.Hits
		if p.short && len(hits) > shown {
			hits = hits[:shown]
		}
		width := 0
		for _, h := range hits {
			width = max(width, min(40, utf8.RuneCountInString(h.Symbol)))
		}
		for _, h := range hits {
			p.line("  %.3f  %-*s  %s", h.Score, width, clip(h.Symbol, 40), h.Sentence)
		}
	}
}

func (p *printer) batch(r *Report) {
	b, c := r.Batch, &r.Batch.Compared
	p.line("")
	p.line("== Every comment against all others: the %d most alike of each ==", r.K)
	row := func(name, searched, dense, note string) {
		p.line("%-24s %12s   %-10s %s", name, searched, dense, note)
	}
	p.line("%-24s %12s   %s", "", "thresher", "dense scan (same engine, reads everything)")
	row("method", string(b.Method), "exact", "")
	row("all "+thousands(b.Queries)+" queries", seconds(b.SearchSeconds), seconds(c.WholeDenseSeconds), extrapolated(c))
	row("queries a second", rate(b.QueriesPerSecond), rate(ratio(float64(c.Queries), c.DenseSeconds)), "")
	row(thousands(c.Queries)+" queries, in turns", seconds(c.SearchSeconds), seconds(c.DenseSeconds),
		fmt.Sprintf("%.1f times faster", c.Ratio))
	row("coordinates read", percent(b.Pulls, b.DensePulls), "100%", fmt.Sprintf("%.1f times fewer", b.Saving))
	p.line("%-24s %12s   of %s compared; %s", "answers that differ", thousands(c.Differing), thousands(c.Queries), verdict(b))
	if b.WentDense > 0 {
		p.line("%-24s %12s   too much was left after a look", "queries scanned densely", thousands(b.WentDense))
	}
}

func extrapolated(c *DenseComparison) string {
	if c.Extrapolated {
		return "extrapolated from " + thousands(c.Queries) + " queries"
	}
	return ""
}

// verdict compares wrong answers with the number that the guarantee allows.
func verdict(b *Batch) string {
	c := &b.Compared
	text := "none may"
	if c.WrongAllowed > 0 {
		text = fmt.Sprintf("delta %g allows %.3g on average", b.Delta, c.WrongAllowed)
	}
	if ties := c.Differing - c.Wrong; ties > 0 {
		text = fmt.Sprintf("%d only by ties; %s", ties, text)
	}
	return text
}

func (p *printer) next() {
	p.line("")
	p.line("== Next (from a clone, thresher is `go run ./cmd/thresher`) ==")
	p.line("  thresher demo --query \"list the files in a directory\" --save c.npy   # saves the vectors")
	p.line("  thresher search --vectors c.npy --queries c.npy --metric ip --exclude-self --out a.npz")
	p.line("  thresher serve --demo   # the same texts on a page, with a box for questions")
}

// clip cuts s to n characters.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-3]) + "..."
}

// thousands writes n with commas.
func thousands[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func seconds(s float64) string {
	switch {
	case s < .001:
		return fmt.Sprintf("%.3f ms", s*1e3)
	case s < .1:
		return fmt.Sprintf("%.1f ms", s*1e3)
	case s < 10:
		return fmt.Sprintf("%.2f s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}

func rate(x float64) string { return thousands(int64(x)) }

func percent(part, whole int64) string {
	share := 100 * ratio(float64(part), float64(whole))
	if share >= 10 {
		return strconv.FormatFloat(share, 'g', 3, 64) + "%"
	}
	return strconv.FormatFloat(share, 'g', 2, 64) + "%"
}
