package dataset

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// optional is a row of a Parquet file in which everything can be null.
type optional struct {
	ID  *string    `parquet:"id,optional"`
	Vec []*float32 `parquet:"vec,list"`
}

func parquetOf(t *testing.T, rows ...optional) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[optional](&b)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pointers(vs ...float32) []*float32 {
	p := make([]*float32, len(vs))
	for i := range vs {
		p[i] = &vs[i]
	}
	return p
}

func TestRefusedParquetRows(t *testing.T) {
	name := "x"
	nan := float32(math.NaN())
	id := &Options{Column: "vec", IDs: "id"}
	runMalformed(t, []malformed{
		{"no rows", "a.parquet", parquetOf(t), nil, -1, -1, "no rows"},
		{"null vector", "a.parquet", parquetOf(t, optional{Vec: pointers(1, 2)}, optional{}), nil, 1, 0, "null or missing"},
		{"null element", "a.parquet", parquetOf(t, optional{Vec: append(pointers(1), nil)}), nil, 0, 1, "null or missing"},
		{"ragged short", "a.parquet", parquetOf(t, optional{Vec: pointers(1, 2)}, optional{Vec: pointers(1)}), nil, 1, -1, "row has 1 columns, the first has 2"},
		{"ragged long", "a.parquet", parquetOf(t, optional{Vec: pointers(1, 2)}, optional{Vec: pointers(1, 2, 3)}), nil, 1, -1, "row has more than 2 columns"},
		{"NaN", "a.parquet", parquetOf(t, optional{Vec: pointers(1, 2)}, optional{Vec: pointers(1, nan)}), nil, 1, 1, "value is NaN"},
		{"null id", "a.parquet", parquetOf(t, optional{ID: &name, Vec: pointers(1)}, optional{Vec: pointers(1)}), id, 1, -1, "id: is null"},
	})
}

// arrowOf writes one record batch of a column of lists; nil is a null list.
func arrowOf(t *testing.T, rows ...[]*float64) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "vec", Type: arrow.ListOf(arrow.PrimitiveTypes.Float64), Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	list := b.Field(0).(*array.ListBuilder)
	values := list.ValueBuilder().(*array.Float64Builder)
	for _, row := range rows {
		if row == nil {
			list.AppendNull()
			continue
		}
		list.Append(true)
		for _, v := range row {
			if v == nil {
				values.AppendNull()
			} else {
				values.Append(*v)
			}
		}
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func pointers64(vs ...float64) []*float64 {
	p := make([]*float64, len(vs))
	for i := range vs {
		p[i] = &vs[i]
	}
	return p
}

func TestRefusedArrowRows(t *testing.T) {
	runMalformed(t, []malformed{
		{"no rows", "a.arrows", arrowOf(t), nil, -1, -1, "no rows"},
		{"zero columns", "a.arrows", arrowOf(t, []*float64{}), nil, 0, -1, "zero columns"},
		{"null vector", "a.arrows", arrowOf(t, pointers64(1, 2), nil), nil, 1, -1, "vector is null"},
		{"null element", "a.arrows", arrowOf(t, append(pointers64(1), nil)), nil, 0, 1, "element is null"},
		{"ragged", "a.arrows", arrowOf(t, pointers64(1, 2), pointers64(1)), nil, 1, -1, "row has 1 columns, the first has 2"},
		{"NaN", "a.arrows", arrowOf(t, pointers64(1, 2), pointers64(1, math.NaN())), nil, 1, 1, "value is NaN"},
		{"too large", "a.arrows", arrowOf(t, pointers64(1, -1e300)), nil, 0, 1, "value -1e+300 is beyond the range of float32"},
	})
}

// TestGuardRefusesClaims gives the guards metadata with counts that exceed the bytes.
func TestGuardRefusesClaims(t *testing.T) {
	deep := bytes.Repeat([]byte{0x1c}, 1<<20) // a structure in a structure in ...
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"thrift nesting", second(thriftLength(deep)), "nested deeper"},
		{"thrift list", second(thriftLength([]byte{0x19, 0xf3, 0xff, 0xff, 0xff, 0xff, 7, 0})), "unexpected EOF"},
		{"thrift empty structures", second(thriftLength(join([]byte{0x19, 0xfc, 0x80, 0x10}, make([]byte, 2049)))), "structures in"},
		{"run", second(checkRuns([]byte{0xff, 0xff, 0xff, 0xff, 0x0e, 1}, 1, 100)), "in a page of 100"},
		{"many runs", second(checkRuns(bytes.Repeat([]byte{200, 1, 1}, 1000), 1, 100)), "in a page of 100"},
		{"bit width", second(checkRuns([]byte{2, 1}, 33, 100)), "bit width 33"},
		{"zstd content", second(unzstd(make([]byte, 100), join(le32(0xfd2fb528), []byte{0xa0}, le32(1<<30), []byte{1, 0, 0}))), "100 bytes are announced"},
		{"zstd window", second(unzstd(make([]byte, 100), join(le32(0xfd2fb528), []byte{0, 0xa0}, []byte{1, 0, 0}))), "window"},
		{"zstd window of a stream", checkZstdWindows(join(le32(0xfd2fb528), []byte{0, 0xa0}, []byte{1, 0, 0}), 100), "100 bytes are announced"},
		{"zstd content of a stream", checkZstdWindows(join(le32(0xfd2fb528), []byte{0xa0}, le32(1<<30), []byte{1, 0, 0}), 100), "100 bytes are announced"},
		{"zstd second frame of a stream", checkZstdWindows(join(
			le32(0x184d2a50), le32(2), []byte{7, 7}, // skippable
			le32(0xfd2fb528), []byte{4, 0}, []byte{0x42, 0x1f, 0, 7}, []byte{9, 0, 0, 7}, le32(0), // a run of 1000, a block of 1, a checksum
			le32(0xfd2fb528), []byte{0, 0xa0}, []byte{1, 0, 0}), 100), "window"},
		{"zstd stream cut", checkZstdWindows(join(le32(0xfd2fb528), []byte{0, 0}, []byte{0xfa, 0xff, 0xff, 0}), 100), "unexpected EOF"},
		{"zstd runs", second(unzstd(make([]byte, 100), join(le32(0xfd2fb528), []byte{0, 0}, bytes.Repeat([]byte{0x42, 0x1f, 0, 0}, 200)))), "exceeds"},
	} {
		if c.err == nil || !bytes.Contains([]byte(c.err.Error()), []byte(c.want)) {
			t.Errorf("%s: error %v lacks %q", c.name, c.err, c.want)
		}
	}
}

// TestArrowWords replaces each word of Arrow files by a large number in turn: memory must not
// grow with it.
func TestArrowWords(t *testing.T) {
	step := 4
	if testing.Short() {
		step *= 5
	}
	for _, file := range []string{"list.arrows", "dict.arrow", "zstd.arrow", "lz4.arrow", "view.arrows"} {
		whole := fixtureBytes(t, file)
		for at := 0; at+4 <= len(whole); at += step {
			data := bytes.Clone(whole)
			copy(data[at:], le32(0x0fffffff))
			before := allocated()
			r, err := openFormat(memorySource("fuzz", data), Arrow, &Options{IDs: "id"})
			if err == nil {
				_, err = Drain(context.Background(), r)
			}
			if used := allocated() - before; used > 200<<20 {
				t.Fatalf("%s: word at %d takes %d MiB", file, at, used>>20)
			}
			if err != nil {
				checkFuzzError(t, err)
			}
		}
	}
}

// TestGuardRefusesPages gives checkPage false headers.
func TestGuardRefusesPages(t *testing.T) {
	header := func(stored, size, values int32) *format.PageHeader {
		h := &format.PageHeader{Type: format.DataPage, CompressedPageSize: stored, UncompressedPageSize: size}
		h.DataPageHeader.Valid = true
		h.DataPageHeader.V.NumValues = values
		h.DataPageHeader.V.RepetitionLevelEncoding, h.DataPageHeader.V.DefinitionLevelEncoding = format.RLE, format.RLE
		return h
	}
	dictionary := header(8, 8, 0)
	dictionary.Type = format.DictionaryPage
	dictionary.DictionaryPageHeader.V.NumValues = 1000
	for _, c := range []struct {
		name   string
		codec  format.CompressionCodec
		header *format.PageHeader
		body   []byte
		want   string
	}{
		{"stored", format.Uncompressed, header(9, 9, 1), make([]byte, 9), "in a chunk with 8 left"},
		{"negative", format.Uncompressed, header(-1, 9, 1), make([]byte, 9), "page of -1 bytes"},
		{"decompressed", format.Gzip, header(8, 1<<30, 1), make([]byte, 8), "claims 1073741824 decompressed"},
		{"values", format.Uncompressed, header(8, 8, 1<<30), make([]byte, 8), "claims 1073741824 values"},
		{"snappy", format.Snappy, header(8, 8, 1), []byte{0xff, 0xff, 0xff, 0xff, 0x07, 0, 0, 0}, "snappy block of 2147483647 bytes where the page has 8"},
		{"dictionary", format.Uncompressed, dictionary, make([]byte, 8), "claims 1000 values"},
	} {
		p, err := openParquetFile(memorySource("a", fixtureBytes(t, "gzipplain.parquet")))
		if err != nil {
			t.Fatal(err)
		}
		g := pageGuard{file: p, leaf: &p.leaves[slices.IndexFunc(p.leaves, func(l parquetLeaf) bool { return l.isList() })], codec: c.codec}
		before := allocated()
		err = g.checkPage(c.header, bytes.NewReader(c.body), 8)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v lacks %q", c.name, err, c.want)
		}
		if used := allocated() - before; used > 64<<20 {
			t.Errorf("%s takes %d MiB", c.name, used>>20)
		}
	}
}

// TestParquetRowCount: the footer's number of rows differs from that of the columns.
func TestParquetRowCount(t *testing.T) {
	for rows, want := range map[int64]string{4: "the column holds more", 6: "the column holds 5"} {
		r, err := Open("testdata/list.parquet", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.(*typed).Reader.(*parquetVectors).file.file.Metadata().NumRows = rows
		_, err = Drain(context.Background(), r)
		checkError(t, nil, err, "testdata/list.parquet", min(rows, 5), -1, want)
		r.Close()
	}
}

func second[T any](_ T, err error) error { return err }

// TestManyPages reads columns of many pages and row groups, larger than any
// buffer, and compares elements and ids.
func TestManyPages(t *testing.T) {
	const rows, dim = 3000, 37
	want := &Matrix{Rows: rows, Dim: dim}
	var names []string
	written := make([]optional, rows)
	for i := range written {
		name := string(rune('a'+i%26)) + string(rune('a'+i/26%26))
		for j := range dim {
			want.Data = append(want.Data, float32(i%50)-float32(j)/8)
		}
		written[i] = optional{ID: &name, Vec: pointers(want.Data[i*dim:]...)}
		names = append(names, name)
	}
	for _, codec := range []parquet.WriterOption{
		parquet.Compression(&parquet.Uncompressed), parquet.Compression(&parquet.Snappy),
		parquet.Compression(&parquet.Zstd), parquet.Compression(&parquet.Gzip),
	} {
		for version := 1; version <= 2; version++ {
			var b bytes.Buffer
			w := parquet.NewGenericWriter[optional](&b, codec, parquet.DataPageVersion(version),
				parquet.PageBufferSize(10_000), parquet.MaxRowsPerRowGroup(700))
			for i := range written {
				written[i].Vec = written[i].Vec[:dim]
			}
			if _, err := w.Write(written); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got, _, err := readBytes(t, "a.parquet", b.Bytes(), &Options{IDs: "id"})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(want.Data, got.Data) {
				t.Fatal("elements differ from what was written")
			}
			if d := cmp.Diff(names, textsOf(got.IDs)); d != "" {
				t.Fatalf("ids (-want +got):\n%.500s", d)
			}
		}
	}
}
