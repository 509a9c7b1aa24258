package dataset

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetColumn walks the values of one column over all row groups.
type parquetColumn struct {
	file   *parquetFile
	leaf   *parquetLeaf
	group  int // next row group
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    []parquet.Value // share memory with page
	i, n   int
	held   int64 // of parquetFile.held
}

func (p *parquetFile) column(l *parquetLeaf) *parquetColumn {
	return &parquetColumn{file: p, leaf: l, buf: make([]parquet.Value, 4096)}
}

func (c *parquetColumn) close() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	if c.pages != nil {
		c.pages.Close()
	}
	c.page, c.pages, c.values = nil, nil, nil
}

// peek returns the value at the cursor, valid until c.i has advanced and peek is called
// again; io.EOF after the last.
func (c *parquetColumn) peek() (*parquet.Value, error) {
	if c.i == c.n {
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
	return &c.buf[c.i], nil
}

func (c *parquetColumn) fill() error {
	for {
		if c.values == nil {
			if err := c.nextPage(); err != nil {
				return err
			}
		}
		n, err := c.values.ReadValues(c.buf)
		if n > 0 {
			c.i, c.n = 0, n
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		parquet.Release(c.page)
		c.page, c.values = nil, nil
	}
}

func (c *parquetColumn) nextPage() error {
	groups := c.file.file.RowGroups()
	for {
		if c.pages == nil {
			if c.group == len(groups) {
				return io.EOF
			}
			if err := c.openChunk(groups[c.group]); err != nil {
				return err
			}
			c.group++
		}
		page, err := c.pages.ReadPage()
		if err == nil {
			c.page, c.values = page, page.Values()
			return nil
		}
		if err != io.EOF {
			return fmt.Errorf("column %q: %w", c.leaf.path, cutShort(err))
		}
		c.pages.Close()
		c.pages = nil
	}
}

// openChunk checks the pages of the chunk before the library decodes them.
func (c *parquetColumn) openChunk(g parquet.RowGroup) error {
	index := c.leaf.column.Index()
	m := c.file.file.Metadata()
	chunk := &m.RowGroups[c.group].Columns[index].MetaData
	if first := m.RowGroups[0].Columns[index].MetaData.Codec; chunk.Codec != first {
		// The library decodes every chunk with the codec of the first.
		return fmt.Errorf("column %q: row groups are compressed with both %s and %s", c.leaf.path, first, chunk.Codec)
	}
	guard := pageGuard{file: c.file, leaf: c.leaf, codec: chunk.Codec}
	if err := guard.checkChunk(chunk); err != nil {
		return fmt.Errorf("column %q: %w", c.leaf.path, err)
	}
	if err := c.hold(guard.largest); err != nil {
		return err
	}
	c.pages = g.ColumnChunks()[index].Pages()
	return nil
}

// hold counts what the largest page of the chunk takes, where pages of all columns are decoded at once.
func (c *parquetColumn) hold(size int64) error {
	c.file.held += size - c.held
	if c.held = size; !c.file.together {
		return nil
	}
	return c.file.budget.checkBlock("a page of each of the columns", c.file.held)
}

// scalar returns the next value of a column that is not a list.
func (c *parquetColumn) scalar() (*parquet.Value, error) {
	v, err := c.peek()
	if err != nil {
		return nil, err
	}
	c.i++
	return v, nil
}

// listValue is the memory of a value of list beside its bytes.
const listValue = 24

// list passes the values of the next row of a list column to do, which must not keep them.
func (c *parquetColumn) list(do func(v *parquet.Value)) error {
	full := c.leaf.column.MaxDefinitionLevel()
	size := int64(0)
	for begun := false; ; begun = true {
		v, err := c.peek()
		if err == io.EOF && begun {
			return nil
		}
		if err != nil {
			return err
		}
		if starts := v.RepetitionLevel() == 0; starts && begun {
			return nil
		} else if starts == begun {
			return errors.New("repetition levels do not begin a row")
		}
		if v.DefinitionLevel() == full {
			if size += listValue; v.Kind() == parquet.ByteArray {
				size += int64(len(v.ByteArray()))
			}
			if err := c.file.budget.checkRow("column "+c.leaf.path, size); err != nil {
				return err
			}
			do(v)
		}
		c.i++
	}
}

// parquetIDs formats a column of strings or integers.
type parquetIDs struct {
	column *parquetColumn
	meter  idMeter
}

func (p *parquetFile) ids(name string) (*parquetIDs, error) {
	leaf, err := p.plainLeaf(name)
	if err != nil {
		return nil, err
	}
	switch leaf.element.Type.V {
	case format.ByteArray, format.Int32, format.Int64:
		return &parquetIDs{column: p.column(leaf), meter: idMeter{budget: p.budget}}, nil
	}
	return nil, fail(p.name, "ids column %q is neither string nor integer", name)
}

// described says what a column is; "" if there is none of the name.
func (p *parquetFile) described(name string) string {
	for i := range p.leaves {
		if l := &p.leaves[i]; l.name == name {
			return "a column of " + l.element.Type.V.String()
		}
	}
	return ""
}

func (p *parquetIDs) next() (string, error) {
	v, err := p.column.scalar()
	if err != nil {
		return "", err
	}
	if v.IsNull() {
		return "", errors.New("is null")
	}
	if v.Kind() != parquet.ByteArray {
		return p.column.leaf.text(v), nil
	}
	return idOf(v.ByteArray(), &p.meter)
}
