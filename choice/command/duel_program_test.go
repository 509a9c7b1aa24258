package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// shorter is a judge that prefers the shorter text, and refuses input with a name.
const shorter = `read -r line; case "$line" in *arm-*) exit 9;; esac
a=$(printf %s "$line" | sed 's/.*"first":"\([^"]*\)".*/\1/'); b=$(printf %s "$line" | sed 's/.*"second":"\([^"]*\)".*/\1/')
if [ ${#a} -lt ${#b} ]; then echo 1; else echo '{"winner":"2","why":"shorter"}'; fi`

func textsFile(t *testing.T, dir string) string {
	t.Helper()
	return clitest.WriteFile(t, dir, "texts.jsonl", []byte(`{"arm":"arm-long","text":"$(touch hacked) 'quoted' ; rm -rf x"}
{"arm":"arm-mid","text":"some words of it"}
{"arm":"arm-short","text":"brief"}
`))
}

// A program judges texts without their names, also in both orders and several at once.
func TestJudgeCommand(t *testing.T) {
	dir := t.TempDir()
	texts := textsFile(t, dir)
	for name, more := range map[string][]string{"one": nil, "both": {"--both-orders", "--parallel", "3"}} {
		r := duelRun(t, "", append(more, "--texts", texts, "--delta", ".1", "--judge-command", shorter, "--judge", "sh", "--state", filepath.Join(dir, name))...)
		r.WantCode(t, cli.ExitOK)
		if !strings.Contains(r.Out, "winner") || !strings.Contains(r.Out, "arm-short") || !strings.Contains(r.Out, "JUDGE") {
			t.Errorf("%s:\n%s", name, r.Out)
		}
		if s := restored(t, filepath.Join(dir, name)).State(); !s.Done || s.Leader != 2 || s.Ties > 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if clitest.Exists("hacked") {
		t.Error("a text was run")
	}
	// One that always prefers the first place contradicts itself in every duel.
	r := duelRun(t, "", "--texts", texts, "--delta", ".1", "--horizon", "20", "--judge-command", "echo 1", "--both-orders", "--state", filepath.Join(dir, "first"))
	r.WantCode(t, cli.ExitOK)
	if s := restored(t, filepath.Join(dir, "first")).State(); s.Ties != s.Duels || s.Duels < 5 {
		t.Errorf("%+v", s)
	}
}

// A failing program is named with what it wrote, and what was judged before is kept.
func TestJudgeCommandFails(t *testing.T) {
	dir := t.TempDir()
	texts := textsFile(t, dir)
	count := filepath.Join(dir, "count")
	for command, want := range map[string]string{
		"echo perhaps":                   `its output is none of 1, 2, tie`,
		"echo oh no >&2; exit 3":         `exit status 3; its error output begins "oh no"`,
		"exec sleep 1000":                "took longer than 50ms",
		"yes | head -c 100000":           "more than 65536 bytes of output",
		"true":                           "it wrote nothing",
		"/nowhere/judge":                 "exit status 127",
		`echo '{"winner":3}'`:            `begins "{\"winner\":3}"`,
		"echo x >>" + count + "; exit 1": "(call 2 of 2)",
	} {
		timeout := "2m"
		if strings.Contains(command, "sleep") {
			timeout = "50ms"
		}
		r := duelRun(t, "", "--texts", texts, "--delta", ".1", "--judge-command", command, "--judge-retries", "1", "--judge-wait", "0", "--judge-timeout", timeout, "--state", filepath.Join(dir, "s"))
		r.WantError(t, want)
		if !strings.Contains(r.Err, "duel 1, ") {
			t.Errorf("%s: %s", command, r.Err)
		}
	}
	if got := clitest.ReadFile(t, count); string(got) != "x\nx\n" {
		t.Errorf("called as often as %q", got)
	}
	// Judged until the third call; the same command continues.
	third := "echo x >>" + count + `; [ $(wc -l <` + count + `) -eq 5 ] && exit 1; ` + shorter
	args := []string{"--texts", texts, "--delta", ".1", "--judge-command", third, "--judge-retries", "0", "--state", filepath.Join(dir, "s")}
	duelRun(t, "", args...).WantError(t, "exit status 1")
	if s := restored(t, filepath.Join(dir, "s")).State(); s.Duels != 2 {
		t.Errorf("%+v", s)
	}
	duelRun(t, "", args...).WantCode(t, cli.ExitOK)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := thresherWith(t, ctx, "", "duel", "run", "--texts", texts, "--delta", ".1", "--judge-command", shorter, "--state", filepath.Join(dir, "i"))
	r.WantCode(t, cli.ExitInterrupted)
}

func TestTextsBadInput(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "folder")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	clitest.WriteFile(t, folder, "a.txt", []byte("text a"))
	arms := armsFile(t, dir, "a", "b")
	for text, want := range map[string]string{
		"\xff\xfe{\x00}\x00":        "is UTF-16; convert it to UTF-8",
		`{"arm":"a"}`:               "line 1: text is missing",
		"\n{\"text\":\"x\"}":        "line 2: arm is missing",
		`{"arm":"a","text":" "}`:    "the name or the text is empty",
		`{"arm":"a","text":1}`:      "line 1:",
		`{"arm":"a","text":"x"} {}`: "line 1: extra data",
		`{"arm":"a","text":"x"}`:    "1 texts; a tournament has 2 to 2048",
		"{\"arm\":\"a\",\"text\":\"x\"}\n{\"arm\":\"b\",\"text\":\"x\"}": `arms "a" and "b" have the same text`,
		"{\"arm\":\"a\",\"text\":\"x\"}\n{\"arm\":\"a\",\"text\":\"y\"}": `line 2: "a" has two texts`,
	} {
		path := clitest.WriteFile(t, dir, "bad.jsonl", []byte(text))
		thresher(t, "duel", "run", "--delta", ".1", "--judge-command", "echo 1", "--texts", path).WantError(t, want)
	}
	for _, c := range []struct{ args, want string }{
		{"--judge-command true --texts " + folder, `folder: no text`},
		{"--judge-command true --texts " + dir + "/none", "--texts: stat"},
		{"--parallel 2", "--parallel needs --judge-command"},
		{"--judge-command true --parallel 0", "--parallel 0 is not in [1, 256]"},
		{"--judge-command true --judge-timeout 0s", "--judge-timeout 0s is not positive"},
		{"--judge-command true --judge-retries -1", "--judge-retries -1"},
		{"--judge-command true --jsonl", "--judge-command excludes"},
		{"--judge-command=", "--judge-command is empty"},
		{"--undo -1", "--undo -1 is negative"},
		{"--judge \xff", "a name has at most 256 characters"},
	} {
		thresher(t, append([]string{"duel", "run", "--arms", arms, "--delta", ".1"}, strings.Fields(c.args)...)...).WantError(t, c.want)
	}
	if clitest.Exists(arms + ".duel") {
		t.Error("a refused run left a state")
	}
}

// FuzzVerdict: an output is one of three verdicts or an error.
func FuzzVerdict(f *testing.F) {
	for _, text := range []string{"1", "2\n", "TIE", `{"winner":1}`, `{"winner":"tie","why":"x"}`, "{}", "", "12", `{"winner":[1]}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := parseVerdict(text); v < neither || v > secondBetter || err != nil && v != 0 {
			t.Errorf("%q: %d, %v", text, v, err)
		}
	})
}

// FuzzTexts: lines are texts of distinct arms, or an error.
func FuzzTexts(f *testing.F) {
	f.Add([]byte(`{"arm":"a","text":"x"}`))
	f.Add([]byte("{\"arm\":\"a\",\"text\":\"x\"}\n\n{\"arm\":\"b\",\"text\":\"\\u00e9\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		x := &armTexts{of: map[string]string{}}
		if err := x.readLines(strings.NewReader(string(text))); err == nil && len(x.names) != len(x.of) {
			t.Errorf("%q: %+v", text, x)
		}
	})
}
