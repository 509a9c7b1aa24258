package command

import (
	"encoding/json"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

func TestDuelPast(t *testing.T) {
	dir := t.TempDir()
	rows := "id,Model_A,model_b,winner,judge\n"
	lines := ""
	for i := range 40 {
		rows += []string{"1,x,y,model_a,ann\n", "2,y,x,x,bob\n", "3,y,z,tie,ann\n", "4,z,x,B,bob\n"}[i%4]
		lines += []string{`{"a":"x","b":"y","winner":"x","judge":"ann"}`, `{"a":"y","b":"x","winner":"x","judge":"bob","more":[1]}`,
			`{"a":"y","b":"z","winner":"TIE","judge":"ann"}`, `{"a":"z","b":"x","winner":"x","judge":"bob"}`}[i%4] + "\n"
	}
	var outs []string
	for name, text := range map[string]string{"p.csv": rows, "p.jsonl": lines} {
		path := clitest.WriteFile(t, dir, name, []byte(text))
		r := thresher(t, "duel", "past", path)
		r.WantCode(t, cli.ExitOK)
		for _, want := range []string{"leader", "x", "of which 10 are ties", "holds if", "BEATEN BY SOME ARM", "AGREES WITH OTHERS"} {
			if !strings.Contains(r.Out, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, r.Out)
			}
		}
		r = thresher(t, "duel", "past", path, "--json", "--delta", ".05")
		r.WantCode(t, cli.ExitOK)
		var o pastOutput
		if err := json.Unmarshal([]byte(r.Out), &o); err != nil {
			t.Fatal(err)
		}
		if g := o.State.Guarantee; len(o.Kept) != 1 || o.Kept[0] != "x" || g == nil || g.Failure > .05 || o.State.Comparisons != 40 || o.State.Ties != 10 {
			t.Errorf("%+v, %+v", o, g)
		}
		outs = append(outs, r.Out)
	}
	if outs[0] != outs[1] {
		t.Errorf("%s\n%s", outs[0], outs[1])
	}
}

func TestDuelPastBadInput(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, text, want string }{
		{"p.csv", "", "p.csv: no header line"},
		{"p.csv", "\xff\xfea\x00,\x00b\x00", "p.csv: is UTF-16; convert it to UTF-8"},
		{"p.csv", "a,b,winner\rx,y,x\r", "p.csv: its lines end with a carriage return alone"},
		{"p.jsonl", "\xff\xfe{\x00}\x00", "p.jsonl: is UTF-16; convert it to UTF-8"},
		{"p.csv", "a,b\nx,y\n", "line 1: no column of winner, result, preferred"},
		{"p.csv", "a,b,winner,A\n", `line 1: column "a" is there twice`},
		{"p.csv", "a,b,winner\n", "p.csv: no comparison"},
		{"p.csv", "a,b,winner\nx,y,x\nx,y,z\n", `line 3: column winner: "z" is none of "x", "y"`},
		{"p.csv", "a,b,winner\nx,x,x\n", `line 2: columns a and b are both "x"`},
		{"p.csv", "a,b,winner\n,y,y\n", "line 2: column a is empty"},
		{"p.csv", "a,b,winner\nx,y\n", "wrong number of fields"},
		{"p.csv", "a,b,winner\nx,\xff,x\n", "line 2: column b:"},
		{"p.csv", "a,b,winner,judge\nx,y,x," + strings.Repeat("j", 300) + "\n", "at most 256 characters"},
		{"p.jsonl", "\n{\"a\":\"x\"}", "line 2: no column of b,"},
		{"p.jsonl", `{"a":"x","b":"y","winner":1}`, "line 1: column winner"},
		{"p.jsonl", `[]`, "line 1: "},
		{"p.txt", "a", "name ends in none of .csv, .jsonl"},
	} {
		r := thresher(t, "duel", "past", clitest.WriteFile(t, dir, c.name, []byte(c.text)))
		r.WantError(t, c.want)
		if !strings.Contains(r.Err, c.name) {
			t.Errorf("%q: %s", c.text, r.Err)
		}
	}
	arena := clitest.WriteFile(t, dir, "arena.csv", []byte("model_a,model_b,winner\nx,y,model_a\nx,y,tie (bothbad)\n"))
	if r := thresher(t, "duel", "past", arena); !strings.Contains(r.Out, "1 are ties") {
		t.Errorf("%s%s", r.Out, r.Err)
	}
	good := clitest.WriteFile(t, dir, "g.csv", []byte("a,b,winner\nx,y,x\n"))
	thresher(t, "duel", "past", good, "--delta", "1").WantError(t, "1 is not in (0, 1)")
	thresher(t, "duel", "past", good, "--epsilon", ".5").WantError(t, "--epsilon 0.5 is not in [0, 1/2)")
	thresher(t, "duel", "past").WantError(t, "0 files named, not one")
	thresher(t, "duel", "past", dir+"/none.csv").WantError(t, "none.csv")
}

// FuzzPast: comparisons are of two different arms that have names, or an error.
func FuzzPast(f *testing.F) {
	f.Add("a,b,winner\nx,y,x\n", true)
	f.Add("left,right,result,rater\nx,y,TIE,j\n\"y\",z,right,\n", true)
	f.Add(`{"a":"x","b":"y","winner":"b"}`, false)
	f.Fuzz(func(t *testing.T, text string, isCSV bool) {
		x := &pastFile{place: map[string]int{}}
		read := x.readJSON
		if isCSV {
			read = x.readCSV
		}
		if read(strings.NewReader(text)) != nil {
			return
		}
		for _, row := range x.rows {
			if row.a == row.b || max(row.a, row.b) >= len(x.names) || x.names[row.a] == "" {
				t.Errorf("%q: %+v", text, row)
			}
		}
	})
}
