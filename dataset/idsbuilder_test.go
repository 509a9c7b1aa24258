package dataset

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestIDsAreFound compares ids with a map of them, by texts and by numbers, also where several rows have one.
func TestIDsAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom([]string{`[0-9]{1,2}`, `[1-9][0-9]{0,18}`, `[a-c1]{0,3}`, `shared-[ab]{0,12}`, `-?[1-9][0-9]?`}).Draw(t, "form")
		given := rapid.SliceOfN(rapid.StringMatching(form), 0, 40).Draw(t, "ids")
		var b IDsBuilder
		signed := form[0] == '-' && rapid.Bool().Draw(t, "integers")
		rows, first := map[string][]int64{}, -1
		for row, id := range given {
			if x, err := strconv.ParseInt(id, 10, 64); signed && err == nil {
				b.AddInt(x)
			} else {
				b.Add(id)
			}
			if rows[id] = append(rows[id], int64(row)); len(rows[id]) == 2 && first < 0 {
				first = row
			}
		}
		d := b.IDs()
		if diff := cmp.Diff(given, textsOf(d)); len(given) > 0 && diff != "" || d.Len() != len(given) {
			t.Fatal(diff)
		}
		if earlier, later, twice := d.Duplicate(); twice != (first >= 0) || twice && (later != first || int64(earlier) != rows[given[first]][0]) {
			t.Fatalf("rows %d and %d are the first of one id (%v), want %d", earlier, later, twice, first)
		}
		for _, id := range append(given, rapid.StringMatching(form).Draw(t, "other"), "7", "-7", "", "x", "18446744073709551615") {
			at, n := d.Find(id)
			if n != min(len(rows[id]), 2) || n > 0 && at != rows[id][0] {
				t.Fatalf("%q is row %d of %d, want %v", id, at, n, rows[id])
			}
			if x, err := strconv.ParseInt(id, 10, 64); err == nil && strconv.FormatInt(x, 10) == id {
				if same, m := d.FindNumber(x); same != at || m != n {
					t.Fatalf("%d is row %d of %d, as a text %d of %d", x, same, m, at, n)
				}
			}
		}
	})
}

// TestIDsAreNumbersUntilATextComes, and Whole says whether they could be.
func TestIDsAreNumbersUntilATextComes(t *testing.T) {
	for _, c := range []struct {
		ids            []string
		textual, whole bool
	}{
		{[]string{"3", "0", "18446744073709551614"}, false, true},
		{[]string{"3", "18446744073709551615"}, true, true},
		{[]string{"3", "07"}, true, false},
		{[]string{"3", "-7"}, true, false},
		{[]string{"x", "7"}, true, false},
	} {
		if d := IDsOf(c.ids); d.Textual() != c.textual || d.Whole() != c.whole || d.Text(0) != c.ids[0] {
			t.Errorf("%q: textual %v, whole %v, begin with %q", c.ids, d.Textual(), d.Whole(), d.Text(0))
		}
	}
	if d := IDsOf([]uint64{5, 1<<64 - 1}); CheckIDs("f", d) == nil {
		t.Error("2^64 - 1 is taken for an id")
	}
	var b IDsBuilder
	b.AddInt(-7)
	if b.IDs().Whole() {
		t.Error("-7 is taken for a whole number from 0 on")
	}
	if b.Add("9223372036854775808"); !b.Textual() || b.IDs().Text(0) != "-7" || b.IDs().Whole() {
		t.Error("integers and one beyond int64 are no texts", b.IDs().Text(0))
	}
	var none *IDs
	if row, rows := none.Find("3"); rows != 0 || none.Len() != 0 || none.Text(3) != "3" || none.Number(3) != 3 || none.Textual() {
		t.Error("rows without ids are not called by their numbers", row)
	}
}
