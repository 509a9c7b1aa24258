package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go/format"
)

// longParquet is a table of plain columns.
type longParquet struct {
	file            *parquetFile
	said            longSchema
	query, id, rank *parquetIDs // rank may be nil
	named           bool        // ids are texts
	score           *parquetColumn
	next            int64
	begun           bool
}

func openLongParquet(p *parquetFile) (ResultReader, error) {
	var names []string
	for i := range p.leaves {
		if p.leaves[i].column.MaxRepetitionLevel() == 0 {
			names = append(names, p.leaves[i].path)
		}
	}
	t := &longParquet{file: p}
	var err error
	if t.said, err = chooseLong(names); err != nil {
		return nil, fail(p.name, "no column ids, and %w", err)
	}
	for _, c := range []struct {
		name string
		to   **parquetIDs
	}{{t.said.query, &t.query}, {t.said.id, &t.id}, {t.said.rank, &t.rank}} {
		if c.name == "" {
			continue
		}
		if *c.to, err = p.ids(c.name); err != nil {
			return nil, err
		}
		(*c.to).meter.passing = true
		if texts := (*c.to).column.leaf.element.Type.V == format.ByteArray; texts && c.name != t.said.id {
			return nil, fail(p.name, "column %q holds texts where integers are wanted", c.name)
		} else if texts {
			t.named = true
		}
	}
	if t.said.score == "" {
		return &longResults{longTable: t, list: hitList{budget: p.budget}}, nil
	}
	leaf, err := p.plainLeaf(t.said.score)
	if err != nil {
		return nil, err
	}
	if kind, ok := leaf.kind(); !ok || kind != f32 && kind != f64 {
		return nil, fail(p.name, "column %q is %s, not float or double", leaf.path, leaf.column.Type())
	}
	t.score = p.column(leaf)
	return &longResults{longTable: t, list: hitList{budget: p.budget}}, nil
}

func (t *longParquet) schema() *longSchema    { return &t.said }
func (t *longParquet) path() string           { return t.file.name }
func (t *longParquet) locate(err error) error { return located(t.file.name, t.next, cutShort(err)) }

func (t *longParquet) Close() error {
	for _, c := range []*parquetIDs{t.query, t.id, t.rank} {
		if c != nil {
			c.column.close()
		}
	}
	if t.score != nil {
		t.score.close()
	}
	return t.file.Close()
}

func (t *longParquet) row() (r longRow, err error) {
	defer recovered(t.file.name, &err)
	if t.begun {
		t.next++
	}
	t.begun = true
	if t.next == t.file.file.NumRows() {
		if _, err := t.query.column.peek(); err != io.EOF {
			return r, failAt(t.file.name, t.next, -1, "rows go on after the %d that the footer announces", t.next)
		}
		return r, io.EOF
	}
	if r, err = t.read(); err != nil {
		return r, t.locate(err)
	}
	return r, nil
}

func (t *longParquet) read() (r longRow, err error) {
	if r.query, err = t.query.nextInt(); err == nil && r.query < 0 {
		err = fmt.Errorf("query %d is negative", r.query)
	}
	if err != nil {
		return r, err
	}
	if t.named {
		if r.name, err = t.id.next(); err != nil {
			return r, fmt.Errorf("column %q: %w", t.said.id, err)
		}
		r.named = true
	} else if r.id, err = t.id.nextInt(); err != nil {
		return r, err
	}
	if t.rank != nil {
		if r.rank, err = t.rank.nextInt(); err != nil {
			return r, err
		}
	}
	if t.score == nil {
		return r, nil
	}
	v, err := t.score.scalar()
	if err == nil && v.IsNull() {
		err = errors.New("is null")
	}
	if err == nil {
		kind, _ := t.score.leaf.kind()
		var x float64
		if x, err = kind.fromParquet(v); err == nil && math.IsInf(float64(float32(x)), 0) {
			err = refuseFloat(x)
		}
		r.score = float32(x)
	}
	if err != nil {
		err = fmt.Errorf("column %q: %w", t.said.score, err)
	}
	return r, err
}

// nextInt returns the next value as an int64.
func (p *parquetIDs) nextInt() (int64, error) {
	text, err := p.next()
	if err != nil {
		return 0, fmt.Errorf("column %q: %w", p.column.leaf.path, err)
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("column %q: %s does not fit int64", p.column.leaf.path, text)
	}
	return v, nil
}
