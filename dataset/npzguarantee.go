package dataset

import (
	"bufio"
	"fmt"
	"io"
)

// mostGuarantee is the number of ASCII characters that the name of a guarantee has at most.
const mostGuarantee = 13

// checkGuarantee refuses what is no name of a guarantee.
func checkGuarantee(name string) error {
	if len(name) > mostGuarantee {
		return fmt.Errorf("guarantee %.40q is longer than %d characters", name, mostGuarantee)
	}
	for _, r := range name {
		if r < ' ' || r > '~' {
			return fmt.Errorf("guarantee %q is not ASCII", name)
		}
	}
	return nil
}

// npzTexts streams an array of one text a query, or one id.
type npzTexts struct {
	texts npzNamed // of which only the texts are used
}

// openTexts opens an array of rows texts or, of query_ids, integers, -1 for any number; nil if there is none.
func openTexts(src *source, entries []npzEntry, array string, rows int64) (*npzTexts, error) {
	e, err := chooseArray(src.name, entries, []string{array})
	if e == nil || err != nil {
		return nil, err
	}
	name, h := src.name+":"+e.name, e.header
	if len(h.shape) != 1 || rows >= 0 && h.shape[0] != rows {
		return nil, fail(name, "array has shape %v, one name a row of ids is wanted", h.shape)
	}
	g := &npzTexts{npzNamed{name: name, big: h.big, meter: idMeter{budget: src.budget, passing: true}}}
	if array != queryIDsName && (len(h.descr) < 2 || h.descr[1] != 'U' && h.descr[1] != 'S') {
		return nil, fail(name, "dtype %q is not that of texts", h.descr)
	}
	if err := g.texts.kind(h); err != nil {
		return nil, fail(name, "%w", err)
	}
	f, err := e.file.Open()
	if err != nil {
		return nil, fail(name, "%w", err)
	}
	src.shut = append([]io.Closer{f}, src.shut...)
	g.texts.r = bufio.NewReader(f)
	if _, err := g.texts.r.Discard(int(h.length)); err != nil {
		return nil, fail(name, "%w", cutShort(err))
	}
	return g, nil
}

// next returns the text of a row.
func (g *npzTexts) next(row int64) (string, error) {
	text, err := g.texts.id()
	if err != nil {
		return "", failAt(g.texts.name, row, -1, "%w", cutShort(err))
	}
	return text, nil
}
