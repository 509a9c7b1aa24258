package dataset

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A format of a test, as a file of the package has one: a line of names, then lines of values, between blanks. As lists
// its lines are ids.
const toy Format = "toy"

var toyCodec = codec{
	format: toy, extensions: []string{"toy"}, signature: starts("toy "), names: namedColumns, header: true,
	vectors: ofOptions(openToy), table: openToyRows, write: writeToy, writes: flatColumns, lists: openToyLists,
}

// toyFile is a file of the format, as vectors, as a table, and as lists.
type toyFile struct {
	*source
	lines [][]string // of values that are left
	names []string
	wants []want
	row   int64
}

func newToy(src *source) (*toyFile, error) {
	text, err := io.ReadAll(src.r)
	if err != nil {
		return nil, err
	}
	f := &toyFile{source: src}
	for line := range strings.Lines(string(text)) {
		f.lines = append(f.lines, strings.Fields(line))
	}
	f.names, f.lines = f.lines[0][1:], f.lines[1:]
	return f, nil
}

func openToy(src *source, _ Options) (Reader, error)         { return newToy(src) }
func openToyRows(src *source, _ string) (tableReader, error) { return newToy(src) }
func openToyLists(src *source, _ ListOptions) (ListReader, error) {
	f, err := newToy(src)
	return toyLists{f}, err
}
func (f *toyFile) Dim() int                      { return len(f.names) }
func (f *toyFile) Len() int64                    { return -1 }
func (f *toyFile) IDs() []string                 { return nil }
func (f *toyFile) fact(string) (string, error)   { return "", nil }
func (f *toyFile) locate(_ int, err error) error { return located(f.name, f.row, err) }
func (f *toyFile) choose(wants []want) error     { f.wants = wants; return nil }

func (f *toyFile) columns() (all []Column, err error) {
	for _, name := range f.names {
		all = append(all, Column{Name: name, Type: Text})
	}
	return all, nil
}

// line takes the next line.
func (f *toyFile) line() ([]string, error) {
	if len(f.lines) == 0 {
		return nil, io.EOF
	}
	line := f.lines[0]
	f.lines = f.lines[1:]
	f.row++
	return line, nil
}

func (f *toyFile) Read(dst []float32) (int, error) {
	line, err := f.line()
	if err != nil {
		return 0, err
	}
	for i, field := range line {
		var c readCell
		if err := c.parseField(field, asScore); err != nil {
			return 0, f.locate(i, err)
		}
		dst[i] = float32(c.float)
	}
	return 1, nil
}

func (f *toyFile) next(row []readCell) error {
	line, err := f.line()
	if err != nil {
		return err
	}
	for i, w := range f.wants {
		if err := row[i].parseField(line[slices.Index(f.names, w.name)], w.as); err != nil {
			return &cellError{i, err}
		}
	}
	return nil
}

// toyLists are the lines as lists.
type toyLists struct{ *toyFile }

func (f toyLists) Limit() int64 { return -1 }

func (f toyLists) Next() (List, error) {
	line, err := f.line()
	return List{Names: line}, err
}

func writeToy(out io.Writer, t *table) error {
	fmt.Fprint(out, "toy")
	for i := range t.columns {
		fmt.Fprint(out, " ", t.columns[i].Name)
	}
	return t.each(func(row []tableCell) error {
		line := "\n"
		for i := range row {
			if t.columns[i].Type == Float32 || t.columns[i].Type == Float64 {
				line += fmt.Sprint(row[i].float, " ")
			} else {
				line += fmt.Sprint(row[i].integer, " ")
			}
		}
		_, err := io.WriteString(out, line)
		return err
	})
}

// TestFormatAdded: a format is one file and its row in the list of codecs. Vectors, numbers, answers and lists are then
// read from it, and tables written to it, also by commands, which ask FormatsFor.
func TestFormatAdded(t *testing.T) {
	all := codecs
	t.Cleanup(func() { codecs = all })
	codecs = append(slices.Clone(all), toyCodec)

	m, err := ReadAll(t.Context(), writeTemp(t, "v.toy", "toy x y\n1 2\n3 4\n"), nil)
	if err != nil || cmp.Diff([]float32{1, 2, 3, 4}, m.Data) != "" {
		t.Error(m, err)
	}
	numbers, err := OpenNumbers(writeTemp(t, "n.toy", "toy k floor\n7 .5\n"), nil, "floor", "k")
	if err != nil {
		t.Fatal(err)
	}
	defer numbers.Close()
	if row, err := numbers.Next(); err != nil || cmp.Diff([]float64{.5, 7}, row) != "" {
		t.Error(row, err)
	}
	results, err := OpenResults(writeTemp(t, "unnamed", "toy query id score\n0 9 .5\n0 8 .75\n1 7 2\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer results.Close()
	if r, err := results.Next(); err != nil || cmp.Diff([]int64{8, 9}, r.Rows) != "" {
		t.Error(r, err)
	}
	lists, err := OpenLists(writeTemp(t, "l.toy", "toy\na b\nc\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lists.Close()
	if l, err := lists.Next(); err != nil || cmp.Diff([]string{"a", "b"}, l.Names) != "" {
		t.Error(l, err)
	}
	var out bytes.Buffer
	err = WriteEdges(&out, toy, eachOf([]Result{{Query: 3, Rows: []int64{5}, Scores: []float32{.5}}}), 9, nil)
	if want := "toy source target score score64\n3 5 0.5 0 "; err != nil || out.String() != want {
		t.Errorf("%q, want %q: %v", out.String(), want, err)
	}
	for _, use := range []Use{ColumnsRead, AnswersRead, ListsRead, EdgesWritten, RowsWritten, LabelsWritten} {
		if !slices.Contains(FormatsFor(use), toy) {
			t.Errorf("use %d: formats %v", use, FormatsFor(use))
		}
	}
	if _, err := OpenLists(writeTemp(t, "a.parquet", "PAR1"), nil); err == nil || !strings.HasSuffix(err.Error(), "formats that do: npz, ivecs, jsonl, toy") {
		t.Error(err)
	}
	if form, ok := AnswersFormOf("a.toy"); !ok || form.Matrix || form.Lines || form.Bare {
		t.Errorf("answers as rows of each query and vector: %+v, %v", form, ok)
	}
}

// TestUses: what the formats are for.
func TestUses(t *testing.T) {
	for use, want := range map[Use][]Format{
		ColumnsRead: {NPZ, CSV, Parquet, Arrow, ArrowStream, JSONL}, AnswersRead: {NPY, NPZ, IVecs, IBin, CSV, Parquet, TREC, JSONL},
		ListsRead: {NPZ, IVecs, JSONL}, AnswersWritten: {NPZ, IVecs, IBin, CSV, Parquet, JSONL}, WholeWritten: {NPZ, CSV, Parquet, JSONL},
		ScoresWritten: {FVecs, FBin}, EdgesWritten: {NPZ, CSV, Parquet, JSONL}, RowsWritten: {NPZ, CSV, Parquet, JSONL},
		LabelsWritten: {NPY, NPZ, CSV, Parquet, JSONL},
	} {
		if diff := cmp.Diff(want, FormatsFor(use)); diff != "" {
			t.Errorf("use %d: %s", use, diff)
		}
	}
	for name, want := range map[string]AnswersForm{
		"a.jsonl": {Format: JSONL, Lines: true}, "a.npz": {Format: NPZ, Matrix: true}, "a.parquet": {Format: Parquet}, "a.csv": {Format: CSV},
		"a.ivecs": {Format: IVecs, Bare: true, Matrix: true}, "a.ibin": {Format: IBin, Bare: true}, "a.neighbors.ibin": {Format: IBin, Bare: true, Matrix: true},
	} {
		form, ok := AnswersFormOf(name)
		if form.write = nil; !ok || fmt.Sprint(form) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want %+v", name, form, want)
		}
	}
	if Arrow.Extension() != ".arrow" || ArrowStream.Extension() != ".arrows" || CSV.Extension() != ".csv" || Unknown.Extension() != "" {
		t.Error("a format has another ending")
	}
}
