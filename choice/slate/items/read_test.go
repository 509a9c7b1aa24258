package items

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadFeatures(t *testing.T) {
	want := &Set{
		IDs: []string{"a", "b"}, Titles: []string{"First, of all", ""},
		Topics: []string{"politics", "sport"}, Features: []float64{.5, 0, 1, .25},
		CostNames: []string{"minutes", "price"}, Costs: []float64{3, 0, 4.5, 1},
		GroupNames: []string{"long", "short"}, Groups: [][]int{{0, 1}, nil},
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"items.jsonl": `{"id":"a","title":"First, of all","groups":["short","long"],"features":{"politics":0.5},"costs":{"minutes":3,"price":0}}

{"id":"b","features":{"sport":0.25,"politics":1},"costs":{"price":1,"minutes":4.5}}
`,
		"items.csv": "\ufeffid,title,cost.minutes,cost.price,feature.sport,feature.politics,groups\na,\"First, of all\",3,0,,.5,short|long\r\nb,,4.5,1,.25,1,\n",
	} {
		got, err := Read(writeFile(t, dir, name, content))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: want, got:\n%s", name, d)
		}
	}
}

// Items without features cover their groups by their score.
func TestReadGroups(t *testing.T) {
	got, err := Read(writeFile(t, t.TempDir(), "items.csv", "id,groups,score,cost\na,Drama | War,.8,2\nb,War,,3\nc,,1,4\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Set{
		IDs: []string{"a", "b", "c"}, Titles: []string{"", "", ""},
		Topics: []string{"Drama", "War"}, Features: []float64{.8, .8, 0, defaultScore, 0, 0},
		CostNames: []string{"cost"}, Costs: []float64{2, 3, 4},
		GroupNames: []string{"Drama", "War"}, Groups: [][]int{{0, 1}, {1}, nil},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("want, got:\n%s", d)
	}
	if got.Name(1) != "b" || got.Len() != 3 || got.Index("War") != 1 || got.Index("Peace") != -1 || got.Row(1)[1] != .5 || got.CostsOf(2)[0] != 4 {
		t.Error("the set does not find its own")
	}
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, content, want string }{
		{"a.txt", "x", ".csv, .jsonl"},
		{"a.csv", "", "is empty"},
		{"a.csv", "\xff\xfei\x00d\x00\n\x00a\x00\n\x00", "a.csv: is UTF-16; convert it to UTF-8"},
		{"a.csv", "id,groups\ra,X\r", "a.csv: its lines end with a carriage return alone"},
		{"a.jsonl", "{\x00\"\x00i\x00d\x00\"\x00", "a.jsonl: is UTF-16; convert it to UTF-8"},
		{"a.jsonl", "{\"id\":\"a\"}\r{\"id\":\"b\"}\r", "a.jsonl: its lines end with a carriage return alone"},
		{"a.csv", "id,groups\n", "has no items"},
		{"a.csv", "id,groups,id\n", `column "id" is there twice`},
		{"a.csv", "id,genre\n", `column "genre" is none of id, title`},
		{"a.csv", "id,feature.\n", `column "feature." is none of`},
		{"a.csv", "id,groups\na,X\n,Y\n", "line 3: id: is empty"},
		{"a.csv", "id,groups\na,X\nb,Y\na,Y\n", `line 4: id "a" is that of line 2`},
		{"a.csv", "id,groups\na,X|\n", `line 2, item "a": groups: a name is empty`},
		{"a.csv", "id,groups\na,X|Y|X\n", `line 2, item "a": groups: "X" is there twice`},
		{"a.csv", "id,groups,score\na,X,much\n", `line 2: score: "much" is not a number`},
		{"a.csv", "id,groups,score\na,X,NaN\n", `line 2, item "a": score: NaN is not in [0, 1]`},
		{"a.csv", "id,feature.x\na,1.5\n", `line 2, item "a": feature.x: 1.5 is not in [0, 1]`},
		{"a.csv", "id,feature.x\na,-.5\n", `line 2, item "a": feature.x: -0.5 is not in [0, 1]`},
		{"a.csv", "id,feature.x,cost\na,1,-2\n", `line 2, item "a": cost.cost: -2 is not in [0, 1e+60]`},
		{"a.csv", "id,feature.x,cost\na,1,Inf\n", `line 2, item "a": cost.cost: +Inf is not in [0, 1e+60]`},
		{"a.csv", "id,feature.x,cost\na,1,2\nb,1,\n", `line 3, item "b": costs: there is no cost, which other items have`},
		{"a.csv", "id,feature.x,score\na,1,.5\n", `line 2, item "a": score: is for files without features`},
		{"a.csv", "id,title\na,b\n", "has neither features nor groups"},
		{"a.csv", "id,title\na,b,c\n", "record on line 2: wrong number of fields"},
		{"a.jsonl", "\n", "has no items"},
		{"a.jsonl", "{\"id\":\"a\",\"groups\":[\"x\"]}\n{\"id\":\"b\",\"genre\":1}\n", `line 2: json: unknown field "genre"`},
		{"a.jsonl", `{"id":"a"} {"id":"b"}`, "line 1: more than one item"},
		{"a.csv", "id,groups\na,X| X\n", `line 2, item "a": groups: "X" is there twice`},
		{"a.csv", "id,feature.x,cost.m\na,1,1.1e60\n", `line 2, item "a": cost.m: 1.1e+60 is not in [0, 1e+60]`},
		{"a.jsonl", `{"id":"a","groups":["A "]}`, `line 1, item "a": groups: "A " has spaces at its ends`},
		{"a.jsonl", `{"id":"a","groups":["A"],"costs":{"m":null}}`, `line 1, item "a": cost.m: null is no number`},
		{"a.jsonl", "\n" + `{"id":"a","features":{"a":1,"b":null}}`, `line 2, item "a": feature.b: null is no number`},
		{"a.jsonl", `{"id":7,"groups":["A"]}`, "line 1: id: cannot be a JSON number"},
		{"a.jsonl", `[1]`, "line 1: item: cannot be a JSON array"},
		{"a.jsonl", `{"id":"a","costs":{"x":"y"}}`, "line 1: costs: cannot be a JSON string"},
	} {
		path := writeFile(t, dir, c.name, c.content)
		_, err := Read(path)
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %q", c.content, err, c.want)
		}
	}
	if _, err := Read(filepath.Join(dir, "none.csv")); err == nil || !strings.Contains(err.Error(), "none.csv") {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("csv", "id,groups,score,cost\na,Drama|War,.8,2\n")
	f.Add("csv", "\ufeffid,title,cost.x,feature.y\n\"a\nb\",,1e300,1\n")
	f.Add("jsonl", `{"id":"7","title":"Up","groups":["Drama"],"score":0.8,"costs":{"minutes":96}}`)
	f.Add("jsonl", `{"id":"7","features":{"":0.7}}`)
	f.Fuzz(func(t *testing.T, form, content string) {
		read := readCSV
		if form == "jsonl" {
			read = readJSONL
		}
		records, err := read(strings.NewReader(content))
		if err != nil {
			return
		}
		s, err := assemble(records, 0)
		if err != nil {
			return
		}
		n, d, l := s.Len(), len(s.Topics), len(s.CostNames)
		if n != len(records) || d == 0 || len(s.Features) != n*d || len(s.Costs) != n*l || len(s.Groups) != n || len(s.Titles) != n {
			t.Fatalf("%+v", s)
		}
		for _, x := range s.Features {
			if !(x >= 0 && x <= 1) {
				t.Fatalf("feature %g", x)
			}
		}
		for _, x := range s.Costs {
			if !(x >= 0) {
				t.Fatalf("cost %g", x)
			}
		}
	})
}
