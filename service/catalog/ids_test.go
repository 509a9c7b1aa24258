package catalog

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/store"
)

// built returns IDs of ids given as text.
func built(t testing.TB, want Kind, ids ...string) *RowIDs {
	t.Helper()
	b := newIDsBuilder(want, 100)
	for _, id := range ids {
		if err := b.add(id); err != nil {
			t.Fatal(err)
		}
	}
	d, err := b.finish()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestIDsAreFound compares IDs, written to a file and read back, with the list they were made
// of.
func TestIDsAreFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids")
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[1-9][0-9]{0,3}`)
		want := rapid.SampledFrom([]Kind{"", Integers, Strings}).Draw(t, "kind")
		if want != Integers && rapid.Bool().Draw(t, "text") {
			id = rapid.StringMatching(`[a-c1]{1,4}`)
		}
		given := rapid.SliceOfNDistinct(id, 1, 40, rapid.ID[string]).Draw(t, "ids")
		b := newIDsBuilder(want, 100)
		for _, id := range given {
			if err := b.add(id); err != nil {
				t.Fatal(err)
			}
		}
		made, err := b.finish()
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(path)
		if err := writeIDs(store.Disk{}, path, made); err != nil {
			t.Fatal(err)
		}
		d, err := readIDs(path)
		if err != nil {
			t.Fatal(err)
		}
		if d.Len() != len(given) || d.Kind() != made.Kind() || d.bytes() != made.bytes() {
			t.Fatal(d, made)
		}
		for row, id := range given {
			if got := d.Name(int64(row)); got != id {
				t.Fatalf("row %d is called %q, want %q", row, got, id)
			}
			keys := &Keys{Names: []string{id}}
			if d.Kind() == Integers {
				keys = &Keys{Ints: []int64{d.Int(int64(row))}}
			}
			if rows, err := d.Rows(keys, "ids"); err != nil || rows[0] != int64(row) {
				t.Fatalf("%q is row %v, want %d: %v", id, rows, row, err)
			}
		}
		other := id.Draw(t, "other")
		if d.Kind() == Strings && !slices.Contains(given, other) {
			if rows, err := d.Rows(names(other), "ids"); err == nil {
				t.Fatalf("%q is row %v", other, rows)
			}
		}
	})
}

func TestIDsThatNobodyToldApart(t *testing.T) {
	both := &Keys{Ints: []int64{10, 3}, Names: []string{"10", "3"}}
	for _, kind := range []Kind{Integers, Strings} {
		d := built(t, kind, "3", "5", "10")
		rows, err := d.Rows(both, "allow")
		if d.Kind() != kind || err != nil || !slices.Equal(rows, []int64{2, 0}) {
			t.Error(kind, rows, err)
		}
	}
	if rows, err := rowNumbers(11).Rows(both, "allow"); err != nil || !slices.Equal(rows, []int64{10, 3}) {
		t.Error(rows, err)
	}
}

// TestDamagedIDs alters each byte of a file in turn.
func TestDamagedIDs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids")
	for _, d := range []*RowIDs{built(t, "", "1", "7", "3"), built(t, "", "x", "abc")} {
		os.Remove(path)
		if err := writeIDs(store.Disk{}, path, d); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range text {
			bad := bytes.Clone(text)
			bad[i] ^= 4
			if d, err := decodeIDs(bytes.NewReader(bad), int64(len(bad))); err == nil {
				t.Errorf("byte %d of %d altered: %+v", i, len(text), d)
			}
			if _, err := decodeIDs(bytes.NewReader(text[:i]), int64(i)); err == nil {
				t.Errorf("cut to %d bytes of %d", i, len(text))
			}
		}
	}
}

func FuzzIDsFile(f *testing.F) {
	for _, d := range []*RowIDs{built(f, "", "1", "7", "3"), built(f, "", "x", "abc")} {
		path := filepath.Join(f.TempDir(), "ids")
		if err := writeIDs(store.Disk{}, path, d); err != nil {
			f.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)-5])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := decodeIDs(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return
		}
		for row := range int64(d.Len()) {
			d.Name(row)
			if _, err := d.Rows(&Keys{Ints: []int64{d.Int(row)}, Names: []string{d.Name(row)}}, "ids"); err != nil {
				break // out of order, which the checksum of a correct file excludes
			}
		}
	})
}

func TestIDMemoryIsWhatIsStated(t *testing.T) {
	for _, c := range []struct {
		ids   []string
		bytes int64
	}{
		{[]string{"1", "2", "30"}, 3 * 8}, {[]string{"1", "30", "2"}, 3 * 12},
		{[]string{"a", "bc", "def"}, 3*8 + 8 + 6}, {[]string{"a", "def", "bc"}, 3*12 + 8 + 6},
	} {
		if got := built(t, "", c.ids...).bytes(); got != c.bytes {
			t.Errorf("%q: %d bytes, want %d", c.ids, got, c.bytes)
		}
	}
	if got := rowNumbers(9).bytes(); got != 0 {
		t.Error(got)
	}
}

func TestLongListsAreCutInErrors(t *testing.T) {
	if d := cmp.Diff(83, len(clip(string(make([]byte, 1000))))); d != "" {
		t.Error(d)
	}
}

// TestIDsBeyondInt64 are texts of digits, found by numbers too.
func TestIDsBeyondInt64(t *testing.T) {
	d := built(t, "", "7", "18446744073709551614", "9223372036854775808")
	for _, keys := range []*Keys{{Names: []string{"9223372036854775808", "7"}}, {Ints: []int64{7}}} {
		rows, err := d.Rows(keys, "allow")
		if want := []int64{2, 0}[2-keys.Len():]; err != nil || !slices.Equal(rows, want) {
			t.Errorf("%+v: rows %v, want %v: %v", keys, rows, want, err)
		}
	}
	if d := built(t, "", "7", "x"); d.digits {
		t.Error("ids with a text are called numbers")
	}
	if _, err := built(t, "", "7", "x").Rows(&Keys{Ints: []int64{7}}, "allow"); err == nil {
		t.Error("an integer is an id of a collection of texts")
	}
}

func TestIDsThatAreNoIDs(t *testing.T) {
	for _, c := range []struct {
		ids  []string
		want string
	}{
		{[]string{"3", "-1"}, "row 1 has the id -1, which is negative"},
		{[]string{"3", "4.5"}, "row 1: id 4.5 is a float"},
		{[]string{"9223372036854775808", "-4"}, "row 1: id -4 is negative"},
		{[]string{"x", "-1", "4.5"}, ""},
	} {
		b := newIDsBuilder("", 100)
		for _, id := range c.ids {
			if err := b.add(id); err != nil {
				t.Fatal(err)
			}
		}
		_, err := b.finish()
		if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.ids, err, c.want)
		}
	}
}
