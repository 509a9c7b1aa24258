package columns

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"thresher/dataset"
	_ "thresher/internal/draws"
)

// sameValues fails unless two columns have the same names, types and values.
func sameValues(t interface{ Fatalf(string, ...any) }, got, want *Columns) {
	if got.Rows() != want.Rows() || !slices.Equal(got.Fields(), want.Fields()) {
		t.Fatalf("%d rows of %v, want %d of %v", got.Rows(), got.Fields(), want.Rows(), want.Fields())
	}
	for i, of := range got.All() {
		for row := range got.Rows() {
			if diff := cmp.Diff(want.All()[i].Value(row), of.Value(row), cmpopts.EquateNaNs()); diff != "" {
				t.Fatalf("column %s, row %d: %s", of.Name, row, diff)
			}
		}
	}
}

// TestCollect: rows of several columns in any order are what rows of one are, packed and unpacked too.
func TestCollect(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rows := append(drawRows(r), make([]dataset.Value, len(names)))
		all := columnsOf(t, names, rows, false)
		fields, n := all.Fields(), len(rows)
		cut := rapid.IntRange(0, n).Draw(r, "cut")
		of := []*Columns{all.Slice(0, cut), nil, all.Slice(cut, n)}
		var places []Place
		var order []int64
		for range rapid.IntRange(0, 20).Draw(r, "collected") {
			row := rapid.IntRange(0, n-1).Draw(r, "row")
			switch {
			case row == n-1: // which is null
				places = append(places, Place{1, 12345})
			case row < cut:
				places = append(places, Place{0, uint32(row)})
			default:
				places = append(places, Place{2, uint32(row - cut)})
			}
			order = append(order, int64(row))
		}
		got := Collect(fields, of, places)
		sameValues(r, got, all.Gather(order))
		packed := got.Pack([]byte("before"))
		again, rest, err := Unpack(append(slices.Clone(packed), "after"...)[6:], fields, got.Rows())
		if err != nil || string(rest) != "after" {
			r.Fatalf("%q follows, %v", rest, err)
		}
		sameValues(r, again, got)
		e := drawExpr(r, 2)
		want, err := got.Select(e)
		found, err2 := again.Select(e)
		if (err == nil) != (err2 == nil) || err == nil && !found.Equals(want) {
			r.Fatalf("selected %v and %v, %v and %v", found, want, err2, err)
		}
		if short := rapid.IntRange(0, len(packed)).Draw(r, "short"); short >= 6 && short < len(packed) {
			if _, _, err := Unpack(packed[6:short], fields, got.Rows()); err == nil {
				r.Fatalf("%d of %d bytes were taken", short, len(packed))
			}
		}
	})
}

// TestAs: what lacks is null, what is exact is converted, and what is not is refused by name.
func TestAs(t *testing.T) {
	fields := []Field{{"f", Float}, {"s", Single}, {"t", Text}, {"i", Integer}}
	c, err := FromJSON([]byte(`{"s":[0.1,null],"f":[7,null],"i":[null,null]}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.As(fields)
	if err != nil {
		t.Fatal(err)
	}
	want, err := New(Of("f", []float64{7, 0}), Of("s", []float32{.1, 0}), Of("t", []string{"", ""}), Of("i", []int{0, 0}))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Fields(), fields) || got.All()[0].Value(0).Float != want.All()[0].Value(0).Float || got.All()[1].Value(0).Float != want.All()[1].Value(0).Float {
		t.Errorf("%v, %v, %v", got.Fields(), got.All()[0].Value(0), got.All()[1].Value(0))
	}
	for i, of := range got.All() {
		if of.Value(1).Kind != dataset.NullValue || i > 1 && of.Value(0).Kind != dataset.NullValue {
			t.Errorf("column %s: %v, %v", of.Name, of.Value(0), of.Value(1))
		}
	}
	for json, want := range map[string]string{
		`{"f":[9007199254740993]}`: `column "f" is int64, where the rows before have float64: row 0 (0-based): 9007199254740993 is no float64`,
		`{"i":[1.5]}`:              `column "i" is float64, where the rows before have int64`,
		`{"t":[true]}`:             `column "t" is bool, where the rows before have text`,
		`{"x":[1]}`:                `there is no column "x"; the columns are f, s, t, i`,
	} {
		c, err := FromJSON([]byte(json))
		if err != nil {
			t.Fatal(err)
		}
		var wrong *TypeError
		if _, err = c.As(fields); !errors.As(err, &wrong) || err.Error() != want {
			t.Errorf("%s: %v", json, err)
		}
	}
}

// TestReadAs: files are read with the types that are wanted, whatever their values look like.
func TestReadAs(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fields := []Field{{"code", Text}, {"year", Integer}, {"score", Float}, {"day", Time}, {"ok", Bool}, {"half", Single}}
	csv := write("a.csv", "code,year,score,day,ok,half,other\n17,2001,3,2024-05-01,TRUE,0.1,x\n18,,,,,,\n")
	got, missing, err := ReadAs(t.Context(), []string{csv}, fields, nil)
	if err != nil || missing != nil || !slices.Equal(got.Fields(), fields) {
		t.Fatalf("%v, missing %v", err, missing)
	}
	for i, want := range []dataset.Value{{Kind: dataset.TextValue, Text: "17"}, {Kind: dataset.IntegerValue, Integer: 2001}, {Kind: dataset.FloatValue, Float: 3},
		{Kind: dataset.TimeValue, Integer: 1714521600e6}, {Kind: dataset.BoolValue, Integer: 1}, {Kind: dataset.SingleValue, Float: float64(float32(.1))}} {
		if diff := cmp.Diff(want, got.All()[i].Value(0)); diff != "" {
			t.Errorf("%s: %s", fields[i].Name, diff)
		}
		if v := got.All()[i].Value(1); v.Kind != dataset.NullValue && i > 0 {
			t.Errorf("%s: %v, want null", fields[i].Name, v)
		}
	}
	lines := write("a.jsonl", `{"code":"2024-05-01","score":1}`+"\n")
	if got, missing, err = ReadAs(t.Context(), []string{lines}, fields, nil); err != nil || !slices.Equal(missing, []string{"year", "day", "ok", "half"}) || got.All()[0].Value(0).Text != "2024-05-01" {
		t.Errorf("%v, missing %v", err, missing)
	}
	for text, want := range map[string]string{
		"year\n2001\nnew\n": `b.csv: row 1 (0-based): column "year" is text, where the rows before have int64: it is "new"`,
		"day\nx\n":          `b.csv: row 0 (0-based): column "day" is text, where the rows before have timestamp: it is "x"`,
	} {
		first, _, _ := strings.Cut(text, "\n")
		a, b := write("a0.csv", first+"\n\"\"\n"), write("b.csv", text)
		if _, _, err := ReadAs(t.Context(), []string{a, b}, fields, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	typed := write("t.jsonl", `{"score":"1"}`+"\n")
	if _, _, err := ReadAs(t.Context(), []string{lines, typed}, fields, nil); err == nil || !strings.Contains(err.Error(), `t.jsonl`) {
		t.Errorf("typed: %v", err)
	}
	none := write("a.fvecs", "\x01\x00\x00\x00\x00\x00\x80\x3f")
	if got, missing, err := ReadAs(t.Context(), []string{none}, fields, nil); got != nil || len(missing) != len(fields) || err != nil {
		t.Errorf("a file without columns: %v, missing %v, %v", got, missing, err)
	}
}
