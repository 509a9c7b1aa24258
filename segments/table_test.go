package segments

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thresher/dataset"
)

// textIDs are texts, also where they look like numbers.
func textIDs(ids ...string) *dataset.IDs {
	var b dataset.IDsBuilder
	for _, id := range ids {
		b.AddText(id)
	}
	return b.IDs()
}

func listed(ids *dataset.IDs) (out []string) {
	for row := range int64(ids.Len()) {
		out = append(out, ids.Text(row))
	}
	return out
}

func assign(t fataler, table *Table, ids *dataset.IDs) []int64 {
	t.Helper()
	if err := table.Check("ids", ids); err != nil {
		t.Fatal(err)
	}
	numbers, err := table.Assign(ids)
	if err != nil {
		t.Fatal(err)
	}
	return numbers
}

func TestTable(t *testing.T) {
	const large = 1<<64 - 2
	for _, c := range []struct {
		name   string
		table  *Table
		writes []*dataset.IDs
		want   [][]int64
	}{
		{"numbers stand for themselves", NewTable(), []*dataset.IDs{dataset.IDsOf([]uint64{7, 0, 1<<62 - 1}), dataset.IDsOf([]uint64{3, 7})}, [][]int64{{7, 0, 1<<62 - 1}, {3, 7}}},
		{"large numbers in order of writing", NewTable(), []*dataset.IDs{dataset.IDsOf([]uint64{large, 1 << 63, 5}), dataset.IDsOf([]uint64{1 << 62, large})}, [][]int64{{1 << 62, 1<<62 + 1, 5}, {1<<62 + 2, 1 << 62}}},
		{"texts", NewTable(), []*dataset.IDs{textIDs("b", "a"), textIDs("c", "b"), textIDs("a")}, [][]int64{{0, 1}, {2, 0}, {1}}},
		{"numbers among texts are digits", NewTable(), []*dataset.IDs{textIDs("17", "a"), dataset.IDsOf([]uint64{17, 18}), textIDs("18")}, [][]int64{{0, 1}, {0, 2}, {2}}},
		{"digits among numbers are numbers", NewTable(), []*dataset.IDs{dataset.IDsOf([]uint64{17}), textIDs("18", "17")}, [][]int64{{17}, {18, 17}}},
		{"a block of numbers", TableOf(dataset.IDsOf([]uint64{50, large, 7})), []*dataset.IDs{dataset.IDsOf([]uint64{7, 8, large}), dataset.IDsOf([]uint64{1 << 63, 8, 50})}, [][]int64{{2, 3, 1}, {4, 3, 0}}},
		{"a block of texts", TableOf(textIDs("x", "y")), []*dataset.IDs{textIDs("z", "x"), textIDs("z", "w")}, [][]int64{{2, 0}, {2, 3}}},
		{"a block of row numbers", TableOf(nil), []*dataset.IDs{dataset.IDsOf([]uint64{9, 1})}, [][]int64{{9, 1}}},
	} {
		for i, ids := range c.writes {
			got := assign(t, c.table, ids)
			if !slices.Equal(got, c.want[i]) {
				t.Errorf("%s, write %d: %v, want %v", c.name, i, got, c.want[i])
			}
			if back := listed(c.table.IDs(got)); !slices.Equal(back, listed(ids)) {
				t.Errorf("%s, write %d: the numbers are of %v, want %v", c.name, i, back, listed(ids))
			}
			if found := c.table.Find(ids); !slices.Equal(found, got) {
				t.Errorf("%s, write %d: found %v, want %v", c.name, i, found, got)
			}
		}
	}
}

func TestTableRefuses(t *testing.T) {
	numbers := TableOf(dataset.IDsOf([]uint64{3}))
	for _, c := range []struct {
		table *Table
		ids   *dataset.IDs
		want  string
	}{
		{numbers, textIDs("4", "x7"), `given: row 1 (0-based): id "x7" is a text, and the other vectors' ids are numbers`},
		{numbers, textIDs("4", "18446744073709551615"), `given: row 1 (0-based): id is 2^64 - 1, which stands for none in answers`},
		{numbers, textIDs("4", "-1"), `given: row 1 (0-based): id -1 is negative; ids are integers from 0 on, or texts: -1 stands for none in answers`},
		{TableOf(textIDs("a", "-1")), textIDs("-1", "1.5", "\xff"), `given: row 2 (0-based): id "\xff" is no UTF-8`},
		{numbers, dataset.IDsOf([]uint64{4, 5, 4}), `given: row 2 (0-based): has the id "4", which row 0 has already`},
		{NewTable(), dataset.IDsOf([]uint64{1<<64 - 1}), `given: row 0 (0-based): id is 2^64 - 1, which stands for none in answers`},
		{NewTable(), textIDs("a", ""), `given: row 1 (0-based): id is empty, which stands for none in answers`},
	} {
		if err := c.table.Check("given", c.ids); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", listed(c.ids), err, c.want)
		}
	}
	if _, err := numbers.Assign(textIDs("x7")); err == nil || numbers.Textual() {
		t.Errorf("a text among numbers was numbered: %v", err)
	}
	if got := numbers.Find(textIDs("x7", "3", "9")); !slices.Equal(got, []int64{-1, 0, -1}) {
		t.Errorf("found %v", got)
	}
}

func TestTableRestored(t *testing.T) {
	table := NewTable()
	if err := table.Restore([]int64{9, 4}, textIDs("nine", "four")); err != nil {
		t.Fatal(err)
	}
	if err := table.Restore([]int64{6}, textIDs("six")); err != nil {
		t.Fatal(err)
	}
	if got := assign(t, table, textIDs("four", "new", "six")); !slices.Equal(got, []int64{4, 10, 6}) {
		t.Errorf("numbers %v, want 4 10 6", got)
	}
	if got := listed(table.IDs([]int64{4, 6, 9, 10})); !slices.Equal(got, []string{"four", "six", "nine", "new"}) {
		t.Errorf("ids %v", got)
	}
	for _, c := range []struct {
		numbers []int64
		ids     *dataset.IDs
		want    string
	}{
		{[]int64{5}, textIDs("four"), `the number 4, not 5`},
		{[]int64{9}, textIDs("other"), `have the number 9`},
		{[]int64{-1}, textIDs("less"), `cannot have the number -1`},
		{[]int64{1, 2}, textIDs("one"), `2 numbers for 1 ids`},
	} {
		if err := table.Restore(c.numbers, c.ids); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.numbers, err, c.want)
		}
	}
	numeric := NewTable()
	if err := numeric.Restore([]int64{3, 1 << 62}, dataset.IDsOf([]uint64{3, 1 << 63})); err != nil {
		t.Fatal(err)
	}
	if err := numeric.Restore([]int64{4}, dataset.IDsOf([]uint64{5})); err == nil {
		t.Error("5 has the number 4")
	}
}

// TestTableProperty compares a table with a map, over writes of any ids.
func TestTableProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts, own := rapid.Bool().Draw(t, "texts"), rapid.Bool().Draw(t, "new")
		draw := func(label string) *dataset.IDs {
			if texts {
				return textIDs(rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c]{1,3}`), 1, 8, rapid.ID[string]).Draw(t, label)...)
			}
			of := rapid.OneOf(rapid.Uint64Range(0, 20), rapid.Uint64Range(1<<62-3, 1<<62+3), rapid.Uint64Range(1<<64-9, 1<<64-2))
			return dataset.IDsOf(rapid.SliceOfNDistinct(of, 1, 8, rapid.ID[uint64]).Draw(t, label))
		}
		table, numbers, highest := NewTable(), map[string]int64{}, int64(-1)
		if !own {
			block := draw("block")
			table = TableOf(block)
			for row := range int64(block.Len()) {
				numbers[block.Text(row)] = row
				highest = row
			}
		}
		for range rapid.IntRange(1, 12).Draw(t, "writes") {
			ids := draw("ids")
			for row, number := range assign(t, table, ids) {
				id := ids.Text(int64(row))
				before, known := numbers[id]
				x, _ := strconv.ParseUint(id, 10, 64)
				switch {
				case known && number != before:
					t.Fatalf("%s has the number %d, and had %d", id, number, before)
				case known:
				case own && !texts && x < ownEnd:
					if number != int64(x) {
						t.Fatalf("%s has the number %d", id, number)
					}
				case number <= highest:
					t.Fatalf("%s is new and has the number %d, not above %d", id, number, highest)
				default:
					highest = number
				}
				numbers[id] = number
			}
		}
		for id, number := range numbers {
			if got := table.IDs([]int64{number}).Text(0); got != id {
				t.Fatalf("%d is %s, want %s", number, got, id)
			}
		}
	})
}

// BenchmarkTable reports the memory of an id, and the time of numbering 1,000 new ones.
func BenchmarkTable(b *testing.B) {
	const n, part = 200_000, 1000
	for _, c := range []struct {
		name string
		ids  func(lo int) *dataset.IDs
	}{
		{"texts", func(lo int) *dataset.IDs {
			ids := make([]string, part)
			for i := range ids {
				ids[i] = fmt.Sprintf("document-%07d", lo+i)
			}
			return dataset.IDsOf(ids)
		}},
		{"large", func(lo int) *dataset.IDs {
			ids := make([]uint64, part)
			for i := range ids {
				ids[i] = 1<<63 + uint64(lo+i)
			}
			return dataset.IDsOf(ids)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				table := NewTable()
				for lo := 0; lo < n; lo += part {
					assign(b, table, c.ids(lo))
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/id")
				runtime.KeepAlive(table)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n*part, "us/1000")
		})
	}
}

// TestTableWhole: ids are whole numbers if those are whose numbers are there, whatever was written before.
func TestTableWhole(t *testing.T) {
	for _, table := range []*Table{NewTable(), TableOf(dataset.IDsOf([]string{"9223372036854775809", "x"}))} {
		numbers, err := table.Assign(dataset.IDsOf([]string{"18446744073709551615", "9223372036854775809", "x", "07"}))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			there []int64
			want  bool
		}{{numbers, false}, {numbers[:2], true}, {numbers[:3], false}, {numbers[3:], false}, {nil, true}} {
			if got := table.Whole(func(number int64) bool { return slices.Contains(c.there, number) }); got != c.want {
				t.Errorf("with %d there: %v", c.there, got)
			}
		}
	}
	table := NewTable()
	if _, err := table.Assign(dataset.IDsOf([]uint64{7})); err != nil || !table.Whole(func(int64) bool { return true }) {
		t.Errorf("numbers are no whole numbers, %v", err)
	}
}
