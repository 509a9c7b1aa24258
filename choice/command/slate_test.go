package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// filmsCSV are items with two costs and groups.
const filmsCSV = `id,title,groups,score,cost.minutes,cost.price
a,Alien,Horror|Space,.8,117,3
b,Babe,Animals,.6,91,1
c,Contact,Space|Drama,.7,149,2
d,Dune,Space,.9,155,9
e,Elf,Comedy,.5,97,1
f,Fargo,Drama|Comedy,.8,98,2
`

func filmsFile(t *testing.T, dir string) string {
	t.Helper()
	return clitest.WriteFile(t, dir, "films.csv", []byte(filmsCSV))
}

// recommended runs slate recommend --json.
func recommended(t *testing.T, args ...string) slateReport {
	t.Helper()
	r := thresher(t, append([]string{"slate", "recommend", "--json"}, args...)...)
	r.WantCode(t, cli.ExitOK)
	var report slateReport
	if err := json.Unmarshal([]byte(r.Out), &report); err != nil {
		t.Fatalf("%v: %s", err, r.Out)
	}
	return report
}

func (r *slateReport) ids() []string {
	var ids []string
	for _, item := range r.Items {
		ids = append(ids, item.ID)
	}
	return ids
}

func TestSlateLearns(t *testing.T) {
	dir := t.TempDir()
	films, state := filmsFile(t, dir), filepath.Join(dir, "ann.json")
	args := []string{"--items", films, "--state", state, "-k", "2", "--budget", "minutes=250", "--group-limit", "Space=1"}
	first := recommended(t, args...)
	if first.Slate != 1 || len(first.Items) != 2 || first.Value != 0 || first.Width <= 0 || first.UCB != 3*first.Width {
		t.Errorf("%+v", first)
	}
	if s := first.Spent; len(s) != 2 || s[0].Cost != "minutes" || s[0].Budget != 250 || s[0].Spent > 250 || s[1].Budget != 0 || s[1].Spent == 0 {
		t.Errorf("%+v", s)
	}
	// This user likes only comedy.
	for round := 1; round <= 15; round++ {
		list := recommended(t, args...)
		space := 0
		var likes []string
		for _, item := range list.Items {
			like := "0"
			if slices.Contains(item.Groups, "Comedy") {
				like = "1"
			}
			if slices.Contains(item.Groups, "Space") {
				space++
			}
			likes = append(likes, like)
		}
		if space > 1 {
			t.Fatalf("%d items of a group of limit 1: %+v", space, list)
		}
		thresher(t, "slate", "feedback", "--state", state, "--slate", fmt.Sprint(list.Slate), "--rewards", strings.Join(likes, ",")).WantCode(t, cli.ExitOK)
	}
	last := recommended(t, args...)
	if last.Slate != 17 || last.Items[0].ID != "f" || last.Items[0].Mean < .6 || last.Items[1].Mean > .3 || last.Items[1].Value != last.Value {
		t.Errorf("after 15 lists: %+v", last)
	}
	if len(first.Weights) != 0 || last.Weights["Comedy"] < .5 || last.Weights["Space"] > .1 {
		t.Errorf("weights %v, later %v", first.Weights, last.Weights)
	}
	r := thresher(t, append([]string{"slate", "recommend"}, args...)...)
	if r.WantCode(t, cli.ExitOK); !strings.Contains(r.Out, "likes    Comedy 0.") {
		t.Errorf("%s", r.Out)
	}
}

func TestSlateRecommendText(t *testing.T) {
	dir := t.TempDir()
	r := thresher(t, "slate", "recommend", "--items", filmsFile(t, dir), "--state", filepath.Join(dir, "s"), "--budget", "price=4", "--group-limit", "Animals=0", "-k2")
	r.WantCode(t, cli.ExitOK)
	for _, want := range []string{"slate 1\n", "MINUTES", "PRICE", "Alien", "Horror, Space", "of 4\n", "give or take", "alpha    none",
		"1 of 6 items, beyond a budget alone: d\n", "1 of 6 items, in a group of limit 0: b\n"} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, r.Out)
		}
	}
	r = thresher(t, "slate", "recommend", "--items", filmsFile(t, dir), "--state", filepath.Join(dir, "s"), "--rule", "determinant", "-k2")
	if r.WantCode(t, cli.ExitOK); !strings.Contains(r.Out, "in the long run, if --lowest, --highest and --norm hold\n") {
		t.Errorf("what alpha depends on is not told:\n%s", r.Out)
	}
}

func TestSlateLimitsFile(t *testing.T) {
	dir := t.TempDir()
	films := filmsFile(t, dir)
	limits := clitest.WriteFile(t, dir, "limits.json", []byte(`{"length":3,"budgets":{"minutes":400},"groups":{"*":1,"Space":0}}`))
	list := recommended(t, "--items", films, "--state", filepath.Join(dir, "a"), "--limits", limits)
	if len(list.Items) != 2 || !slices.Equal(list.Barred, []string{"a", "c", "d"}) || list.Spent[0].Budget != 400 {
		t.Errorf("%+v", list)
	}
	list = recommended(t, "--items", films, "--state", filepath.Join(dir, "b"), "--limits", limits, "-k", "1", "--budget", "minutes=95", "--group-limit", "Space=1")
	if got := list.ids(); !slices.Equal(got, []string{"b"}) || len(list.Barred) != 0 || len(list.Unaffordable) != 5 {
		t.Errorf("flags over the file: %+v", list)
	}
	list = recommended(t, "--items", films, "--state", filepath.Join(dir, "c"), "--limits", limits, "--group-limit", "1")
	if len(list.Barred) != 0 {
		t.Errorf("a flag for all groups over those of the file: %+v", list)
	}
}

// A budget without a name is that of the only cost, and takes precedence over the file's.
func TestSlateBudgetFlagGoesFirst(t *testing.T) {
	dir := t.TempDir()
	films := clitest.WriteFile(t, dir, "films.csv", []byte("id,groups,cost\na,X,1\nb,Y,1\nc,Z,1\n"))
	limits := clitest.WriteFile(t, dir, "limits.json", []byte(`{"budgets":{"cost":3}}`))
	for _, flag := range []string{"2", "cost=2"} {
		list := recommended(t, "--items", films, "--state", filepath.Join(dir, "s"), "--limits", limits, "--budget", flag)
		if s := list.Spent[0]; s.Budget != 2 || s.Spent != 2 {
			t.Errorf("--budget %s over a file with 3: %+v", flag, s)
		}
	}
}

// Lists have the default length unless another is requested.
func TestSlateUsualLength(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("id,feature.x\n")
	for i := range 15 {
		fmt.Fprintf(&text, "%d,.1\n", i)
	}
	many := clitest.WriteFile(t, dir, "many.csv", []byte(text.String()))
	open := clitest.WriteFile(t, dir, "open.json", []byte(`{"length":0}`))
	for _, c := range []struct {
		args []string
		want int
	}{{nil, usualLength}, {[]string{"-k0"}, 15}, {[]string{"--limits", open}, 15}, {[]string{"-k3", "--limits", open}, 3}} {
		list := recommended(t, append([]string{"--items", many, "--state", filepath.Join(dir, "s"), "--algorithm", "lsb"}, c.args...)...)
		if len(list.Items) != c.want {
			t.Errorf("%v: %d items, want %d", c.args, len(list.Items), c.want)
		}
	}
}

func TestSlateUsers(t *testing.T) {
	dir := t.TempDir()
	films, users := filmsFile(t, dir), filepath.Join(dir, "users")
	for _, name := range []string{"ann", "../bob", "ann"} {
		recommended(t, "--items", films, "--state", users, "--user", name)
	}
	if got := folderNames(t, users); !slices.Equal(got, []string{"..%2Fbob.json", "ann.json"}) {
		t.Errorf("%q", got)
	}
	thresher(t, "slate", "feedback", "--state", users, "--user", "ann", "--slate", "2", "--rewards", "1").WantCode(t, cli.ExitOK)
	thresher(t, "slate", "feedback", "--state", users, "--user", "../bob", "--slate", "2", "--rewards", "1").WantError(t, "bob.json", "slate 2 does not exist; the last is 1")
	none := filepath.Join(dir, "none")
	thresher(t, "slate", "feedback", "--state", none, "--user", "ann", "--slate", "1", "--rewards", "1").WantError(t, none)
	if clitest.Exists(none) {
		t.Error("feedback made a folder")
	}
}

func folderNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// The first rewards of a slate are kept, and refused ones change nothing.
func TestSlateFeedback(t *testing.T) {
	dir := t.TempDir()
	films, state := filmsFile(t, dir), filepath.Join(dir, "ann.json")
	for range 3 {
		recommended(t, "--items", films, "--state", state, "-k", "3")
	}
	feedback := func(args ...string) clitest.Result {
		return thresher(t, append([]string{"slate", "feedback", "--state", state}, args...)...)
	}
	r := feedback("--slate", "2", "--rewards", "1, 0")
	r.WantCode(t, cli.ExitOK)
	if r.Out != "slate 2: learned from 2 rewards; 2 so far\n" {
		t.Errorf("%q", r.Out)
	}
	before := clitest.ReadFile(t, state)
	r = feedback("--slate", "2", "--rewards", "1,0", "--json")
	r.WantCode(t, cli.ExitOK)
	if r.Out != `{"slate":2,"rewards":2,"new":false,"observations":2}`+"\n" {
		t.Errorf("%q", r.Out)
	}
	files := 0
	lines := func(content string) []string {
		files++
		return []string{"--from", clitest.WriteFile(t, dir, fmt.Sprint(files, ".jsonl"), []byte(content))}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--slate", "2", "--rewards", "1,1"}, "ann.json: slate 2: already has the rewards [1 0], which are final"},
		{[]string{"--slate", "2", "--rewards", "1,0,0"}, "slate 2: already has the rewards [1 0]"},
		{[]string{"--slate", "1", "--rewards", "1,0,0,1"}, "ann.json: slate 1: 4 rewards for 3 items"},
		{[]string{"--slate", "4", "--rewards", "1"}, "slate 4 does not exist; the last is 3"},
		{[]string{"--slate", "0", "--rewards", "1"}, "slate 0 does not exist"},
		{[]string{"--slate", "1", "--rewards", "1,NaN"}, "slate 1, reward 2: NaN is not in [0, 1]"},
		{[]string{"--slate", "1", "--rewards", "-1"}, "slate 1, reward 1: -1 is not in [0, 1]"},
		{[]string{"--slate", "1", "--rewards", "1e999"}, `reward 1: "1e999" is not a number`},
		{[]string{"--slate", "1", "--rewards", "1,,0"}, `--rewards 1,,0: reward 2: "" is not a number`},
		{[]string{"--slate", "1"}, "slate feedback: --rewards is missing"},
		{[]string{"--rewards", "1"}, "slate feedback: --slate is missing"},
		{nil, "--slate and --rewards, or --from"},
		{[]string{"--slate", "1", "--rewards", "1", "--from", "x"}, "--slate and --rewards, or --from"},
		{[]string{"--from", filepath.Join(dir, "none")}, "none: no such file"},
		{lines("\n"), ".jsonl: no rewards"},
		{lines(`{"slate":1,"rewards":[1]}` + "\n\n" + `{"slate":3,"rewards":[2]}`), ".jsonl, line 3: slate 3, reward 1: 2 is not in [0, 1]"},
		{lines(`{"slate":1,"rewards":[1]}` + "\n" + `{"slate":1,"rewards":[0]}`), ".jsonl, line 2: slate 1: already has the rewards [1]"},
		{lines(`{"slate":1,"rewards":[]}`), "line 1: slate 1: no rewards"},
		{lines(`{"slate":1,"reward":[1]}`), `.jsonl, line 1: json: unknown field "reward"`},
		{lines(`{"slate":1,"rewards":[1]}{}`), "line 1: more than one object"},
		{lines(`{"slate":"1","rewards":[1]}`), "line 1: slate: cannot be a JSON string; rewards are"},
		{lines(`{"slate":1,"rewards":["1"]}`), "line 1: rewards: cannot be a JSON string"},
		{lines(`[1]`), "line 1: a line: cannot be a JSON array"},
		{lines(`{"slate":1,"rewards":[1`), "line 1: is cut short"},
		{lines(`{"rewards":[1]}`), "line 1: slate is missing"},
		{[]string{"--from", dir}, "--from: " + dir + ": is a directory"},
		{lines(`{"slate":1,"rewards":[1,null]}`), ".jsonl, line 1: slate 1, reward 2: null is not a number"},
	} {
		feedback(c.args...).WantError(t, c.want)
	}
	if !bytes.Equal(before, clitest.ReadFile(t, state)) {
		t.Error("refused rewards changed the state")
	}
	r = thresherWith(t, t.Context(), `{"slate":3,"rewards":[0,0,1]}`+"\n"+`{"slate":2,"rewards":[1,0]}`+"\n"+`{"slate":1,"rewards":[0.5]}`+"\n",
		"slate", "feedback", "--state", state, "--from", "-")
	r.WantCode(t, cli.ExitOK)
	if want := "slate 3: learned from 3 rewards; 5 so far\nslate 2: had been learned from, nothing changed: 2 rewards; 5 so far\nslate 1: learned from 1 rewards; 6 so far\n"; r.Out != want {
		t.Errorf("%s", r.Out)
	}
}

// Rewards refer to the items as they were shown, even if the items have changed.
func TestSlateFeedbackAfterItemsChanged(t *testing.T) {
	dir := t.TempDir()
	films := filmsFile(t, dir)
	for _, state := range []string{"a", "b"} {
		recommended(t, "--items", films, "--state", filepath.Join(dir, state))
	}
	feedback := func(state string) {
		thresher(t, "slate", "feedback", "--state", filepath.Join(dir, state), "--slate", "1", "--rewards", "1,0,1").WantCode(t, cli.ExitOK)
	}
	feedback("a")
	clitest.WriteFile(t, dir, "films.csv", []byte(strings.ReplaceAll(filmsCSV, ".8", ".2")))
	feedback("b")
	if !bytes.Equal(clitest.ReadFile(t, filepath.Join(dir, "a")), clitest.ReadFile(t, filepath.Join(dir, "b"))) {
		t.Error("the same rewards of the same slate taught something else")
	}
}

func TestSlateBadInput(t *testing.T) {
	dir := t.TempDir()
	films := filmsFile(t, dir)
	file := func(name, content string) string { return clitest.WriteFile(t, dir, name, []byte(content)) }
	state := filepath.Join(dir, "good.json")
	recommended(t, "--items", films, "--state", state)
	other := file("other.csv", "id,groups\na,X\n")
	sealed := string(clitest.ReadFile(t, state))
	good := sealed[:strings.LastIndex(sealed, `,"crc32c"`)] + "}\n" // as in files of earlier releases
	damaged := func(name, old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("no %q in %s", old, good)
		}
		return file(name, strings.Replace(good, old, new, 1))
	}
	before := clitest.FolderOf(t, dir)
	recommend := func(args string) string { return "slate recommend --items " + films + " " + args }
	for _, c := range []struct{ args, want string }{
		{"slate recomend", "did you mean recommend?"},
		{"slate recommend", "--items: no file named"},
		{recommend(""), "--state: no file named"},
		{recommend("--state " + dir), "is a directory"},
		{recommend("--user= --state " + dir), "--user: is empty"},
		{recommend("--state " + dir + "/none/s"), "none"},
		{"slate recommend --items " + dir + "/none.csv --state x", "--items: stat " + dir + "/none.csv"},
		{"slate recommend --items " + dir + " --state x", "u.genre: no such file"},
		{"slate recommend --items " + other + " --state " + state, `good.json: has the topics ["Animals" "Comedy" "Drama" "Horror" "Space"], the items have ["X"]`},
		{recommend("--state x --budget 4"), `--budget 4: items have the costs ["minutes" "price"]; write NAME=4`},
		{recommend("--state x --budget fee=4"), `budget of "fee": items have the costs`},
		{recommend("--state x --budget price=much"), `--budget price=much: "much" is not a number`},
		{recommend("--state x --budget price=0"), `budget of "price": 0 is not above 0`},
		{recommend("--state x --budget price=NaN"), `budget of "price": NaN is not above 0`},
		{recommend("--state x --budget price=inf"), `budget of "price": +Inf is not above 0 and at most 1e+60`},
		{recommend("--state x --budget 2 --budget price=3"), "--budget 2: has no name, others have"},
		{recommend("--state x --budget price=.1"), "the limits leave no item"},
		{recommend("--state x --group-limit War=1"), `group limit of "War": there is no such group`},
		{recommend("--state x --group-limit Space=-1"), `--group-limit Space=-1: -1 is negative`},
		{recommend("--state x --group-limit -1"), `--group-limit -1: -1 is negative`},
		{recommend("--state x --group-limit 1 --group-limit 2"), `--group-limit 2: is given twice`},
		{recommend("--state x --budget price=1 --budget price=2"), `--budget price=2: is given twice`},
		{recommend("--state x --limits " + file("limit6.json", `{"budgets":{"price":"9"}}`)), `limit6.json: budgets: cannot be a JSON string`},
		{recommend("--state x --limits " + file("limit7.json", `[]`)), `limit7.json: limits: cannot be a JSON array`},
		{recommend("--state x --limits " + file("limit8.json", `{"length":3`)), `limit8.json: is cut short`},
		{"slate recommend --items " + file("noid.csv", "title,groups\na,b\n") + " --state x", "noid.csv: has no column id"},
		{"slate simulate --users -1", "slate simulate: --users -1 is below 1"},
		{"slate simulate --rounds -1", "slate simulate: --rounds -1 is below 0"},
		{"slate simulate --news-topics 1", "slate simulate: --news-topics 1 is below 2"},
		{recommend("--state x --group-limit Space"), `--group-limit Space: "Space" is not a whole number`},
		{recommend("--state x -k -2"), "--length -2 is negative"},
		{recommend("--state x --limits " + dir + "/none.json"), "none.json"},
		{recommend("--state x --limits " + file("limits.json", `{"size":3}`)), `limits.json: json: unknown field "size"`},
		{recommend("--state x --limits " + file("limit2.json", `{"length":null}`)), "limit2.json: length: null is not a whole number"},
		{recommend("--state x --limits " + file("limit3.json", `{"budgets":{"price":null}}`)), `limit3.json: budget of "price": null is not a number`},
		{recommend("--state x --limits " + file("limit4.json", `{"budgets":{"":1}}`)), "limit4.json: budgets: a name is empty"},
		{recommend("--state x --limits " + file("limit5.json", `{"groups":{"Space":null}}`)), `limit5.json: group limit of "Space": null is not a number`},
		{recommend("--state x --algorithm ucb"), `"ucb"`},
		{recommend("--state x --rule wild"), `"wild"`},
		{recommend("--state x --delta 0"), "--delta 0 is not above 0"},
		{recommend("--state x --delta 2"), "delta 2 is not in (0, 1)"},
		{recommend("--state x --ridge 0"), "--ridge 0 is not above 0"},
		{recommend("--state " + state + " --ridge 2"), "good.json: was created with --ridge 1, not 2"},
		{recommend("--state " + file("digit.json", strings.Replace(sealed, `"last":1`, `"last":3`, 1))), "digit.json: is not a state file of slates: its checksum is"},
		{recommend("--state " + file("torn.json", good[:len(good)/2])), "torn.json: is not a state file of slates"},
		{recommend("--state " + file("empty.json", "")), "empty.json: is not a state file of slates"},
		{recommend("--state " + file("null.json", "{}")), "null.json: is not a state file of slates: version 0; this program reads 1"},
		{recommend("--state " + damaged("version.json", `"version":1`, `"version":2`)), "version 2"},
		{recommend("--state " + damaged("last.json", `"last":1`, `"last":0`)), "open slate 1 behind 0, the last being 0"},
		{recommend("--state " + damaged("feature.json", `"features":[`, `"features":[7,`)), "features of"},
		{recommend("--state " + damaged("topics.json", `"Animals",`, ``)), "4 topics, of the user 5 are known"},
		{recommend("--state " + damaged("user.json", `"user":{`, `"user":null,"x":{`)), "has no user"},
		{"slate feedback --slate 1 --rewards 1", "--state: no file named"},
		{"slate feedback --slate 1 --rewards 1 --user ann --state " + dir + "/nobody", "nobody: no such file or directory; slate recommend creates it"},
		{"slate feedback --state " + dir + "/none.json --slate 1 --rewards 1", "none.json: no such file or directory; slate recommend creates it"},
	} {
		thresher(t, strings.Fields(c.args)...).WantError(t, c.want)
	}
	for _, name := range []string{"limits.json", "limit2.json", "limit3.json", "limit4.json", "limit5.json", "limit6.json", "limit7.json", "limit8.json", "noid.csv", "digit.json", "torn.json", "empty.json", "null.json", "version.json", "last.json", "feature.json", "topics.json", "user.json"} {
		os.Remove(filepath.Join(dir, name))
	}
	if after := clitest.FolderOf(t, dir); !slices.Equal(before, after) {
		t.Errorf("folder was %v, is %v", before, after)
	}
	if clitest.Exists("x") {
		t.Error("a refused recommendation left a state")
	}
}

func TestSlateCompletion(t *testing.T) {
	for _, c := range [][]string{
		{"recommend", "--algorithm", "afsm"}, {"recommend", "--rule", "tuned"},
		{"simulate", "--figure", "cardinality"}, {"simulate", "--algorithms", "mcs"},
	} {
		r := thresher(t, "__complete", "slate", c[0], c[1], "")
		r.WantCode(t, cli.ExitOK)
		if !strings.Contains(r.Out, c[2]+"\n") {
			t.Errorf("%v: %q", c, r.Out)
		}
	}
}
