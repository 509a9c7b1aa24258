package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// step is a command of a page, as a reader types it, and what it prints.
type step struct {
	line   int // of the page, from 1
	shell  string
	prints []string
}

// transcript returns the commands of a page: the lines of its console blocks that begin with "$ ",
// and what stands below each.
func transcript(page string) (steps []step) {
	console := false
	for number, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			console = line == "```console"
		case console && strings.HasPrefix(line, "$ "):
			steps = append(steps, step{line: number + 1, shell: line[2:]})
		case console && len(steps) > 0:
			last := &steps[len(steps)-1]
			last.prints = append(last.prints, line)
		}
	}
	return steps
}

// halves are the files that the page makes of comments.npy with numpy.
const halves = `python3 -c 'import numpy as np; x = np.load("comments.npy"); np.save("old.npy", x[:5000]); np.save("new.npy", x[5000:]); np.save("queries.npy", x[::12])'`

// song are the files of notes and a song that the page makes with numpy.
const song = `python3 -c 'import numpy as np; t = np.arange(4000) / 2000; notes = np.sin(2 * np.pi * np.outer([256, 330, 392, 512, 660, 440, 587], t)); song = np.where(t < 1, np.dot([1, 2, 3, 0, 0, 0, 0], notes), np.dot([0, 0, 3, 2.5, 1.5, 0, 0], notes)); np.save("notes.npy", notes.astype("f4")); np.save("song.npy", song.astype("f4"))'`

// writeSong does what song does.
func writeSong(t *testing.T) {
	t.Helper()
	const rate, length = 2000, 4000
	hertz := []float64{256, 330, 392, 512, 660, 440, 587}
	weights := [2][]float64{{1, 2, 3, 0, 0, 0, 0}, {0, 0, 3, 2.5, 1.5, 0, 0}}
	notes, played := make([]float32, len(hertz)*length), make([]float32, length)
	for at := range length {
		sum := 0.
		for i, f := range hertz {
			x := math.Sin(2 * math.Pi * (f * (float64(at) / rate)))
			notes[i*length+at] = float32(x)
			sum += weights[at/rate][i] * x
		}
		played[at] = float32(sum)
	}
	clitest.WriteFile(t, ".", "notes.npy", npy(notes, length))
	clitest.WriteFile(t, ".", "song.npy", npy(played, length))
}

// run executes a command in the working folder and returns what it prints. The page's
// here-documents are what they print.
func (s *step) run(t *testing.T) string {
	t.Helper()
	if file, ok := strings.CutPrefix(s.shell, "cat > "); ok {
		file = strings.TrimSuffix(file, " <<'END'")
		end := slices.Index(s.prints, "END")
		if end < 0 {
			t.Fatalf("line %d: no END", s.line)
		}
		clitest.WriteFile(t, ".", file, []byte(strings.Join(s.prints[:end], "\n")+"\n"))
		s.prints = s.prints[end+1:]
		return ""
	}
	if file, ok := strings.CutPrefix(s.shell, "cat "); ok {
		return string(clitest.ReadFile(t, file))
	}
	if s.shell == halves {
		rows, dim := readNPY(t, "comments.npy")
		var queries []float32
		for at := 0; at < len(rows); at += 12 * dim {
			queries = append(queries, rows[at:at+dim]...)
		}
		clitest.WriteFile(t, ".", "old.npy", npy(rows[:5000*dim], dim))
		clitest.WriteFile(t, ".", "new.npy", npy(rows[5000*dim:], dim))
		clitest.WriteFile(t, ".", "queries.npy", npy(queries, dim))
		return ""
	}
	if s.shell == song {
		writeSong(t)
		return ""
	}
	command, filter, _ := strings.Cut(s.shell, " | ")
	args := strings.Fields(command)
	if args[0] != "thresher" {
		t.Fatalf("line %d: %s: the page's commands are thresher, cat > FILE, cat FILE, %s and %s", s.line, s.shell, halves, song)
	}
	got := thresher(t, unquoted(args[1:])...)
	got.WantCode(t, cli.ExitOK)
	return filtered(t, filter, got.Out) + got.Err
}

// unquoted joins what stands in single quotes.
func unquoted(args []string) (out []string) {
	open := false
	for _, a := range args {
		begins, ends := strings.HasPrefix(a, "'"), strings.HasSuffix(a, "'")
		a = strings.Trim(a, "'")
		if open {
			out[len(out)-1] += " " + a
		} else {
			out = append(out, a)
		}
		open = (open || begins) && !ends
	}
	return out
}

// filtered is text after "cut -c1-N" or "head -N".
func filtered(t *testing.T, filter, text string) string {
	t.Helper()
	if filter == "" || text == "" {
		return text
	}
	number, err := strconv.Atoi(filter[strings.LastIndex(filter, "-")+1:])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(text, "\n")
	switch strings.Fields(filter)[0] {
	case "head":
		return strings.Join(lines[:min(number, len(lines))], "")
	case "cut":
		for i, line := range lines {
			lines[i] = strings.TrimSuffix(line, "\n")
			lines[i] = lines[i][:min(number, len(lines[i]))]
		}
		return strings.Join(lines, "\n")
	}
	t.Fatalf("%s is no filter of a page", filter)
	return ""
}

// readNPY reads a file of float32 that npy or demo --save wrote.
func readNPY(t *testing.T, path string) (rows []float32, dim int) {
	t.Helper()
	b := clitest.ReadFile(t, path)
	start := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	m := regexp.MustCompile(`'shape': \((\d+), (\d+),?\)`).FindSubmatch(b[:start])
	if m == nil {
		t.Fatalf("%s: %q", path, b[:start])
	}
	dim, _ = strconv.Atoi(string(m[2]))
	for b = b[start:]; len(b) > 0; b = b[4:] {
		rows = append(rows, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return rows, dim
}

// What depends on the machine: plans are chosen by its costs, and so is what they read.
var machineDependent = []struct{ pattern, to string }{
	{`^(speed|read|time|memory) .*`, "$1"},
	{`^guarantee  (exact|certain): none wrong`, "guarantee  exact or certain: none wrong"}, // exact if the plan builds nothing
	{`^(method|guarantee|law) .*`, "$0"},
	{`plan [^ ]+(, no building)?, `, "plan P, "},
	{`\b[\d.]+ ?(ns|µs|ms|s)\b`, "T"},
	{`[\d,]+ (queries|rows|pairs)/s`, "N/s"},
	{`[\d.]+ [KMG]i?B\b`, "B"},
}

// stable is a line without what depends on the machine.
func stable(line string) string {
	line = strings.TrimRight(line, " ")
	for _, m := range machineDependent {
		line = regexp.MustCompile(m.pattern).ReplaceAllString(line, m.to)
	}
	return line
}

// matches compares what a command prints with the page, on which a line "..." stands for any
// number of lines.
func matches(got, want []string) error {
	for i, line := range want {
		if line == "..." {
			rest := want[i+1:]
			if len(rest) == 0 {
				return nil
			}
			for skipped := range len(got) - i + 1 {
				if matches(got[i+skipped:], rest) == nil {
					return nil
				}
			}
			return fmt.Errorf("after ..., nothing is like %q", rest[0])
		}
		if i >= len(got) {
			return fmt.Errorf("lacks %q", line)
		}
		if stable(got[i]) != stable(line) {
			return fmt.Errorf("prints %q; the page has %q", got[i], line)
		}
	}
	if len(got) > len(want) {
		return fmt.Errorf("prints %q, which the page lacks", got[len(want)])
	}
	return nil
}

// lines splits text, without empty lines at its end.
func lines(text string) []string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// TestUsesTranscripts runs the commands of docs/uses.md, one after the other in one folder, and
// compares what they print with the page.
func TestUsesTranscripts(t *testing.T) {
	if testing.Short() {
		t.Skip("searches 5,473 comments several times")
	}
	runPage(t, "uses.md")
}

// TestCollectionsTranscript does so with docs/collections.md.
func TestCollectionsTranscript(t *testing.T) { runPage(t, "collections.md") }

// TestJoinTranscript does so with docs/join.md.
func TestJoinTranscript(t *testing.T) { runPage(t, "join.md") }

func runPage(t *testing.T, name string) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	steps := transcript(string(page))
	if len(steps) < 4 {
		t.Fatalf("the page has %d commands", len(steps))
	}
	for _, s := range steps {
		got := s.run(t)
		if err := matches(lines(got), lines(strings.Join(s.prints, "\n"))); err != nil {
			t.Errorf("docs/%s:%d: %s\n%v\nall of it:\n%s", name, s.line, s.shell, err, got)
		}
	}
}

func TestTranscript(t *testing.T) {
	page := "text\n```console\n$ thresher a 'b c'\nx 5 ms\n...\nz\n$ cat > f <<'END'\n1\nEND\n```\n$ not a command\n"
	steps := transcript(page)
	if len(steps) != 2 || steps[0].line != 3 || steps[1].shell != "cat > f <<'END'" {
		t.Fatalf("%+v", steps)
	}
	if got := unquoted(strings.Fields(steps[0].shell)); !slices.Equal(got, []string{"thresher", "a", "b c"}) {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		got   []string
		right bool
	}{
		{[]string{"x 7.25 ms", "y", "y", "z"}, true},
		{[]string{"x 5 ms", "z"}, true},
		{[]string{"x 5 ms", "y"}, false},
		{[]string{"x of 5 ms", "z"}, false},
		{[]string{"x 5 ms", "z", "more"}, false},
		{nil, false},
	} {
		if err := matches(c.got, steps[0].prints); (err == nil) != c.right {
			t.Errorf("%q: %v", c.got, err)
		}
	}
}
