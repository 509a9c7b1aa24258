package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"thresher/columns"
	"thresher/dataset"
	"thresher/join"
)

// appendMatches appends, for each row of the left table, how many matches it has, and of each the row of the right table
// and the bits of its score.
func appendMatches(b []byte, m *join.Matches) []byte {
	for j := 1; j < len(m.Lims); j++ {
		lo, hi := m.Lims[j-1], m.Lims[j]
		b = binary.AppendUvarint(b, uint64(hi-lo))
		for i := lo; i < hi; i++ {
			b = binary.AppendUvarint(b, uint64(m.Rows[i]))
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(m.Scores[i]))
		}
	}
	return b
}

// match is a row of the right table with its score.
type match struct {
	row   int
	score float64
}

// readMatches reads the matches of one row, which appendMatches has written, into dst; io.EOF after the last row.
func readMatches(r *bufio.Reader, dst []match) ([]match, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	dst = dst[:0]
	for range n {
		row, err := binary.ReadUvarint(r)
		if err != nil {
			return nil, cutShort(err)
		}
		var bits [8]byte
		if _, err := io.ReadFull(r, bits[:]); err != nil {
			return nil, cutShort(err)
		}
		dst = append(dst, match{int(row), math.Float64frombits(binary.LittleEndian.Uint64(bits[:]))})
	}
	return dst, nil
}

// cutShort makes the end of a file within a record an error.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// joinTable is the table of the joined rows.
type joinTable struct {
	columns     []dataset.ValueColumn
	left, right []*columns.Column // that are written, in this order, before rank and score
	rows        int               // of the left table
	rightRows   int
	keepAll     bool // also rows of the left table without a match
}

// The names of the columns that a join adds.
const (
	rankName  = "rank"
	scoreName = "score"
)

// newJoinTable chooses columns and their names: keys are those of the left table, once.
func newJoinTable(left, right *joinSide, keys []string, keepAll bool) (*joinTable, error) {
	t := &joinTable{rows: left.columns.Rows(), rightRows: right.columns.Rows(), keepAll: keepAll}
	taken := map[string]bool{rankName: true, scoreName: true}
	for _, c := range left.written(nil) {
		name := c.Name
		if taken[name] {
			name += "_left"
		}
		if taken[name] {
			return nil, sameName(name)
		}
		taken[name] = true
		t.left, t.columns = append(t.left, c), append(t.columns, dataset.ValueColumn{Name: name, Kind: c.Type.Kind()})
	}
	for _, c := range right.written(keys) {
		name := c.Name
		if taken[name] {
			name += "_right"
		}
		if taken[name] {
			return nil, sameName(name)
		}
		taken[name] = true
		t.right, t.columns = append(t.right, c), append(t.columns, dataset.ValueColumn{Name: name, Kind: c.Type.Kind()})
	}
	t.columns = append(t.columns, dataset.ValueColumn{Name: rankName, Kind: dataset.IntegerValue}, dataset.ValueColumn{Name: scoreName, Kind: dataset.FloatValue})
	return t, nil
}

func sameName(name string) error {
	return fmt.Errorf("two columns of the output are called %q: --left-columns and --right-columns name those that are written", name)
}

// written are the columns of a table that are written, but for some.
func (s *joinSide) written(except []string) (all []*columns.Column) {
	for _, c := range s.columns.All() {
		if !slices.Contains(except, c.Name) && !slices.Contains(s.lists, c.Name) && (slices.Contains(s.names, c.Name) || slices.Contains(s.names, columns.All)) {
			all = append(all, c)
		}
	}
	return all
}

// fits returns an error if the format does not hold the columns, of files of these names.
func (t *joinTable) fits(format dataset.Format, left, right string) error {
	if format == dataset.JSONL {
		for _, side := range []struct {
			of         []*columns.Column
			rows       int
			file, flag string
		}{{t.left, t.rows, left, "left"}, {t.right, t.rightRows, right, "right"}} {
			for _, c := range side.of {
				if row := infinite(c, side.rows); row >= 0 {
					return fmt.Errorf("--out: %s: row %d (0-based): column %q: %g is no number of JSON; .csv and .parquet hold it, and --%s-columns names the columns that are written", side.file, row, c.Name, c.Value(row).Float, side.flag)
				}
			}
		}
	}
	err := dataset.WriteValues(io.Discard, format, t.columns, nil, func(func([]dataset.Value) error) error { return nil })
	if err != nil {
		return fmt.Errorf("--out: %w; --left-columns and --right-columns name those that are written", err)
	}
	return nil
}

// infinite returns the first row of a column that has an infinity, -1 if none has.
func infinite(c *columns.Column, rows int) int {
	if c.Type != columns.Float && c.Type != columns.Single {
		return -1
	}
	for row := range rows {
		if math.IsInf(c.Value(row).Float, 0) {
			return row
		}
	}
	return -1
}

// write writes the output, of the matches in the log.
func (t *joinTable) write(ctx context.Context, files *pairFiles, facts []dataset.Fact) error {
	log, err := os.Open(files.log())
	if err != nil {
		return err
	}
	defer log.Close()
	return files.create(files.out, func(out io.Writer) error {
		return dataset.WriteValues(out, files.outFormat, t.columns, facts, func(do func([]dataset.Value) error) error {
			if _, err := log.Seek(0, io.SeekStart); err != nil {
				return err
			}
			return t.each(ctx, bufio.NewReaderSize(log, 1<<20), do)
		})
	})
}

// each passes on the rows of the output.
func (t *joinTable) each(ctx context.Context, log *bufio.Reader, do func([]dataset.Value) error) error {
	values := make([]dataset.Value, len(t.columns))
	added := values[len(values)-2:]
	var found []match
	for row := 0; ; row++ {
		if row%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		if found, err = readMatches(log, found); err == io.EOF && row == t.rows {
			return nil
		}
		if err != nil || row >= t.rows {
			return fmt.Errorf("the log of matches ends at row %d of %d: %w", row, t.rows, err)
		}
		if len(found) == 0 && !t.keepAll {
			continue
		}
		for i, c := range t.left {
			values[i] = c.Value(row)
		}
		if len(found) == 0 {
			clear(values[len(t.left):])
			if err := do(values); err != nil {
				return err
			}
		}
		for rank, m := range found {
			if m.row >= t.rightRows {
				return fmt.Errorf("the log of matches has row %d of %d", m.row, t.rightRows)
			}
			for i, c := range t.right {
				values[len(t.left)+i] = c.Value(m.row)
			}
			added[0] = dataset.Value{Kind: dataset.IntegerValue, Integer: int64(rank + 1)}
			added[1] = dataset.Value{Kind: dataset.FloatValue, Float: m.score}
			if err := do(values); err != nil {
				return err
			}
		}
	}
}
