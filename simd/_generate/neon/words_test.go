package neon

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// every writes each instruction and arrangement once, with register numbers that differ
// in their bits.
func every(f *File) {
	const d, n, m = 5, 19, 26
	bytes, halves, words, floats := []Arrangement{B8, B16}, []Arrangement{H4, H8}, []Arrangement{S2, S4}, []Arrangement{S2, S4, D2}
	for _, op := range slices.Sorted(maps.Keys(same)) {
		of := slices.Concat(bytes, halves, words)
		if same[op].float {
			of = floats
		} else if strings.HasPrefix(op, "cm") || op == "add" || op == "sub" || op == "addp" || strings.HasSuffix(op, "shl") {
			of = append(of, D2)
		}
		for _, a := range of {
			f.Same(op, a, d, n, m)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(bitwise)) {
		f.Bits(op, d, n, m)
	}
	for _, op := range slices.Sorted(maps.Keys(widen)) {
		for _, a := range slices.Concat(bytes, halves, words) {
			f.Widen(op, a, d, n, m)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(wider)) {
		for _, a := range slices.Concat(bytes, halves, words) {
			f.Wider(op, a, d, n, m)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(misc)) {
		of := slices.Concat(bytes, halves, words)
		switch {
		case misc[op].float:
			of = floats
		case op == "cnt" || op == "not":
			of = bytes
		case strings.HasPrefix(op, "cm") || op == "abs" || op == "neg":
			of = append(of, D2)
		}
		for _, a := range of {
			f.Misc(op, a, d, n)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(pairwise)) {
		for _, a := range slices.Concat(bytes, halves, words) {
			f.Pairwise(op, a, d, n)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(narrow)) {
		for _, a := range slices.Concat(bytes, halves, words) {
			f.Narrow(op, a, d, n)
		}
	}
	for _, a := range words {
		f.Double(a, d, n)
		f.Single(a, d, n)
	}
	for _, op := range slices.Sorted(maps.Keys(across)) {
		for _, a := range slices.Concat(bytes, halves, []Arrangement{S4}) {
			f.Across(op, a, d, n)
		}
	}
	f.Across("fmaxv", S4, d, n)
	for _, op := range []string{"sdot", "udot"} {
		f.Dot(op, d, n, m)
		for i := range 4 {
			f.DotLane(op, d, n, m, i)
		}
	}
	for _, op := range []string{"fmul", "fmla", "fmls"} {
		for i := range 4 {
			f.Lane(op, S4, d, n, m, i)
		}
		for i := range 2 {
			f.Lane(op, D2, d, n, m, i)
		}
	}
	for _, op := range []string{"shl", "sli", "sshr", "ushr", "sri"} {
		for _, a := range slices.Concat(bytes, halves, words, []Arrangement{D2}) {
			f.Shift(op, a, d, n, 1)
			f.Shift(op, a, d, n, 7)
		}
	}
	for _, op := range []string{"sshll", "ushll"} {
		for _, a := range slices.Concat(bytes, halves, words) {
			f.Shift(op, a, d, n, 0)
			f.Shift(op, a, d, n, 5)
		}
	}
	for _, op := range []string{"uzp1", "trn1", "zip1", "uzp2", "trn2", "zip2"} {
		for _, a := range slices.Concat(bytes, halves, words, []Arrangement{D2}) {
			f.Zip(op, a, d, n, m)
		}
	}
	for tables := 1; tables <= 4; tables++ {
		f.Table(d, n, tables, m)
	}
	for _, a := range []Arrangement{B16, H8, S4, D2} {
		f.Dup(a, d, n, 1)
	}
	f.Prefetch(1, d, n)
	f.Prefetch(2, d, n)
}

// TestWords compares each word with GNU as 2.40's for the syntax beside it; both are a
// line of testdata/words.txt. A new instruction's line comes from that assembler, not
// from this package.
func TestWords(t *testing.T) {
	file, err := os.Open("testdata/words.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		word, is, _ := strings.Cut(lines.Text(), " ")
		want[is] = word
	}
	f := new(File)
	every(f)
	got := regexp.MustCompile(`WORD \$0x(\w+) // (.*)\n`).FindAllStringSubmatch(f.asm.String(), -1)
	if len(got) < 300 {
		t.Fatalf("%d instructions", len(got))
	}
	for _, g := range got {
		if want[g[2]] != g[1] {
			t.Errorf("%s: %s, want %q", g[2], g[1], want[g[2]])
		}
	}
}

// TestPlaces checks the offsets of parameters and results.
func TestPlaces(t *testing.T) {
	f := new(File)
	f.Func("func kernel(a *float32, n int32, x float32, y float64, flag bool) (sum float32, ok bool)", "kernel is one.")
	for name, want := range map[string]string{
		"a": "MOVD a+0(FP)", "n": "MOVW n+8(FP)", "x": "FMOVS x+12(FP)", "y": "FMOVD y+16(FP)", "flag": "MOVBU flag+24(FP)",
		"sum": "FMOVS sum+32(FP)", "ok": "MOVBU ok+36(FP)",
	} {
		if got := fmt.Sprintf("%s %s", f.move(name), f.place(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if !strings.Contains(f.asm.String(), "TEXT ·kernel(SB), NOSPLIT, $0-37\n") {
		t.Errorf("%s", f.asm.String())
	}
}
