package dataset

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// Member is a row of vectors and the connected component of the graph of pairs that it is in.
type Member struct {
	Side      string // "a" or "b": which of two tables the row is of; "" if there is one
	Row       int64  // 0-based
	Name      string // its id, if the rows have ids
	Component int64  // the number of the component: its least row
	Size      int64  // rows of the component
	Label     int32  // rank of the component among all, by their numbers, 0-based
	Keep      bool   // the row is the component's first, the one to keep of duplicates
}

// ComponentTable describes the members of a file.
type ComponentTable struct {
	Rows  int64
	Sides bool // Side is written
	Named bool // Name is written
}

// EachMember calls do with every member and returns its first error. Whenever it is called, it
// calls do with the same members in the same order. The member is valid during the call.
type EachMember func(do func(m *Member) error) error

// WriteComponents writes components as a table with a row for each member:
//
//	Parquet  row int64, component int64, size int64, keep boolean; side and id string if wanted
//	CSV      the same columns, with a header
//	JSONL    {"row":3,"component":1,"size":2,"keep":false}
//	NPY      the labels, int32 [Rows], as scipy.sparse.csgraph.connected_components returns them
//	NPZ      labels int32, component int64, size int64 and keep bool, each [Rows]
func WriteComponents(out io.Writer, format Format, each EachMember, t *ComponentTable) error {
	switch format {
	case Parquet:
		return writeComponentsParquet(out, each, t)
	case NPZ:
		return writeComponentsNPZ(out, each, t)
	case NPY:
		w := bufio.NewWriterSize(out, streamBuffer)
		w.Write(appendNPYHeader(nil, "<i4", t.Rows)) // an error is kept until the flush
		if err := each(writeLabel(w)); err != nil {
			return err
		}
		return w.Flush()
	case CSV:
		return t.writeCSV(out, each)
	case JSONL:
		return writeLines(out, func(add func(line []byte) error) error {
			var line []byte
			return each(func(m *Member) error {
				line = t.appendJSONL(line[:0], m)
				return add(line)
			})
		})
	}
	return fmt.Errorf("components are not written as %s", format)
}

func (t *ComponentTable) writeCSV(out io.Writer, each EachMember) error {
	w := csv.NewWriter(out)
	record := func(side, name string, rest ...string) error {
		var fields []string
		if t.Sides {
			fields = append(fields, side)
		}
		if t.Named {
			fields = append(fields, name)
		}
		return w.Write(append(fields, rest...))
	}
	if err := record("side", "id", "row", "component", "size", "keep"); err != nil {
		return err
	}
	err := each(func(m *Member) error {
		return record(m.Side, m.Name, strconv.FormatInt(m.Row, 10), strconv.FormatInt(m.Component, 10), strconv.FormatInt(m.Size, 10), strconv.FormatBool(m.Keep))
	})
	if err != nil {
		return err
	}
	w.Flush()
	return w.Error()
}

func (t *ComponentTable) appendJSONL(dst []byte, m *Member) []byte {
	dst = append(dst, '{')
	if t.Sides {
		dst = append(appendString(append(dst, `"side":`...), m.Side), ',')
	}
	if t.Named {
		dst = append(appendString(append(dst, `"id":`...), m.Name), ',')
	}
	dst = strconv.AppendInt(append(dst, `"row":`...), m.Row, 10)
	dst = strconv.AppendInt(append(dst, `,"component":`...), m.Component, 10)
	dst = strconv.AppendInt(append(dst, `,"size":`...), m.Size, 10)
	dst = strconv.AppendBool(append(dst, `,"keep":`...), m.Keep)
	return append(dst, '}', '\n')
}

// parquetMember is a row of a Parquet file of components.
type parquetMember struct {
	Row       int64 `parquet:"row"`
	Component int64 `parquet:"component"`
	Size      int64 `parquet:"size"`
	Keep      bool  `parquet:"keep"`
}

// namedMember is parquetMember with the row's id.
type namedMember struct {
	ID        string `parquet:"id,optional"`
	Row       int64  `parquet:"row"`
	Component int64  `parquet:"component"`
	Size      int64  `parquet:"size"`
	Keep      bool   `parquet:"keep"`
}

// sidedMember is namedMember with the row's table.
type sidedMember struct {
	Side      string `parquet:"side,dict"`
	ID        string `parquet:"id,optional"`
	Row       int64  `parquet:"row"`
	Component int64  `parquet:"component"`
	Size      int64  `parquet:"size"`
	Keep      bool   `parquet:"keep"`
}

func writeComponentsParquet(out io.Writer, each EachMember, t *ComponentTable) error {
	if !t.Named && !t.Sides {
		w := newParquetTable[parquetMember](out)
		err := each(func(m *Member) error { return w.add(parquetMember{m.Row, m.Component, m.Size, m.Keep}) })
		return w.close(err)
	}
	if !t.Sides {
		w := newParquetTable[namedMember](out)
		err := each(func(m *Member) error {
			return w.add(namedMember{m.Name, m.Row, m.Component, m.Size, m.Keep})
		})
		return w.close(err)
	}
	w := newParquetTable[sidedMember](out)
	err := each(func(m *Member) error {
		return w.add(sidedMember{m.Side, m.Name, m.Row, m.Component, m.Size, m.Keep})
	})
	return w.close(err)
}

func writeLabel(w *bufio.Writer) func(m *Member) error {
	return func(m *Member) error {
		var element [4]byte
		binary.LittleEndian.PutUint32(element[:], uint32(m.Label))
		_, err := w.Write(element[:])
		return err
	}
}

func writeComponentsNPZ(out io.Writer, each EachMember, t *ComponentTable) error {
	number := func(of func(m *Member) int64) func(w *bufio.Writer) error {
		return func(w *bufio.Writer) error {
			return each(func(m *Member) error {
				var element [8]byte
				binary.LittleEndian.PutUint64(element[:], uint64(of(m)))
				_, err := w.Write(element[:])
				return err
			})
		}
	}
	z := zip.NewWriter(out)
	for _, array := range []struct {
		name, descr string
		fill        func(w *bufio.Writer) error
	}{
		{"labels", "<i4", func(w *bufio.Writer) error { return each(writeLabel(w)) }},
		{"component", "<i8", number(func(m *Member) int64 { return m.Component })},
		{"size", "<i8", number(func(m *Member) int64 { return m.Size })},
		{"keep", "|b1", func(w *bufio.Writer) error {
			return each(func(m *Member) error {
				keep := byte(0)
				if m.Keep {
					keep = 1
				}
				return w.WriteByte(keep)
			})
		}},
	} {
		if err := (npzWriter{z}).array(array.name, array.descr, []int64{t.Rows}, array.fill); err != nil {
			return err
		}
	}
	return z.Close()
}
