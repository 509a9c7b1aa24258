package columns

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/dataset"
)

// savedRows are rows of all types, with nulls.
func savedRows() ([]string, [][]dataset.Value) {
	null := dataset.Value{}
	names := []string{"integer", "float", "single", "text", "bool", "time", "list", "nothing"}
	return names, [][]dataset.Value{
		{{Kind: dataset.IntegerValue, Integer: math.MinInt64}, {Kind: dataset.FloatValue, Float: math.NaN()}, {Kind: dataset.SingleValue, Float: .5}, {Kind: dataset.TextValue, Text: "b"}, {Kind: dataset.BoolValue, Integer: 1}, {Kind: dataset.TimeValue, Integer: -5}, {Kind: dataset.ListValue, Texts: []string{"x", "y", "x"}}, null},
		{null, null, null, null, null, null, null, null},
		{{Kind: dataset.IntegerValue, Integer: 7}, {Kind: dataset.FloatValue, Float: -0.25}, {Kind: dataset.SingleValue, Float: 2}, {Kind: dataset.TextValue, Text: ""}, {Kind: dataset.BoolValue}, {Kind: dataset.TimeValue, Integer: 9}, {Kind: dataset.ListValue, Texts: []string{}}, null},
		{{Kind: dataset.IntegerValue, Integer: 7}, {Kind: dataset.FloatValue, Float: math.Inf(1)}, {Kind: dataset.SingleValue, Float: -2}, {Kind: dataset.TextValue, Text: "a"}, {Kind: dataset.BoolValue}, {Kind: dataset.TimeValue}, {Kind: dataset.ListValue, Texts: []string{"y"}}, null},
	}
}

// reload reads columns of names back from what Write wrote, changed by change.
func reload(t *testing.T, c *Columns, change func(b []byte) []byte, names ...string) (*Columns, error) {
	t.Helper()
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	changed := change(b.Bytes())
	return Load(bytes.NewReader(changed), int64(len(changed)), names...)
}

func unchanged(b []byte) []byte { return b }

// TestLoad: columns of all types are read back with all values, and select the same rows.
func TestLoad(t *testing.T) {
	names, rows := savedRows()
	c := columnsOf(t, names, rows, false)
	got, err := reload(t, c, unchanged)
	if err != nil {
		t.Fatal(err)
	}
	for i, of := range got.All() {
		if of.Field() != c.All()[i].Field() {
			t.Errorf("column %d is %v, want %v", i, of.Field(), c.All()[i].Field())
		}
		for row := range rows {
			if diff := cmp.Diff(rows[row][i], of.Value(row), cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("%s, row %d: %s", of.Name, row, diff)
			}
		}
	}
	for _, text := range []string{"integer = 7", "not (float < 1)", "float != 1", "single > 0", "text starts with ''", "bool", "time < '1970-01-01'", "list has 'x'", "not list has 'x'", "nothing is null", "list is not null"} {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Select(e)
		if err != nil {
			t.Fatal(err)
		}
		found, err := got.Select(e)
		if err != nil || !found.Equals(want) {
			t.Errorf("%s: %v %v, want %v", text, found, err, want)
		}
	}
	two, err := reload(t, c, unchanged, "list", "integer")
	if err != nil || len(two.All()) != 2 || two.All()[1].Name != "integer" || two.All()[0].Value(0).Texts[1] != "y" {
		t.Errorf("columns of two names: %v %v", two, err)
	}
	if _, err := reload(t, c, unchanged, "lang"); err == nil || !strings.Contains(err.Error(), `no column "lang"; the columns are integer, float`) {
		t.Errorf("a name that is not there: %v", err)
	}
}

// TestLoadDamaged: every bit that is changed, and every byte that is missing, is found.
func TestLoadDamaged(t *testing.T) {
	names, rows := savedRows()
	c := columnsOf(t, names, rows, false)
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	for at := range b.Len() {
		_, err := reload(t, c, func(b []byte) []byte { b[at] ^= 1; return b })
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) && !errors.Is(err, ErrVersion) {
			t.Fatalf("byte %d changed: %v", at, err)
		}
		if _, err := reload(t, c, func(b []byte) []byte { return b[:at] }); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) {
			t.Fatalf("%d bytes: %v", at, err)
		}
	}
}

// FuzzLoad: what is not such a file is refused, also with the right checksums; whatever is loaded can be read.
func FuzzLoad(f *testing.F) {
	names, rows := savedRows()
	for i, name := range names {
		b := newBuilder(name)
		for row := range rows {
			if err := b.add(&rows[row][i]); err != nil {
				f.Fatal(err)
			}
		}
		c := b.column(false)
		parts, err := c.sections()
		if err != nil {
			f.Fatal(err)
		}
		parts = append(parts, make([][]byte, 5-len(parts))...)
		f.Add(parts[0], parts[1], parts[2], parts[3], parts[4], uint8(c.Type), uint16(len(rows)))
	}
	f.Fuzz(func(t *testing.T, filled, keys, counts, lengths, texts []byte, kind uint8, rows uint16) {
		c := &Column{Name: "c", Type: Type(1 + kind%7), rows: int(rows)}
		if c.restore([][]byte{filled, keys, counts, lengths, texts}) != nil {
			return
		}
		for row := range int(rows) {
			c.Value(row)
		}
		e, err := Parse("c is not null")
		if err != nil {
			t.Fatal(err)
		}
		all := &Columns{rows: int(rows), of: []*Column{c}}
		if found, err := all.Select(e); err != nil || !found.Equals(c.filled) {
			t.Errorf("%v %v, want %v", found, err, c.filled)
		}
	})
}
