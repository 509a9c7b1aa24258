package command

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// Work that would take more memory than is free is refused in advance, with the figure, the
// limit and the flag that requested it.
func TestTooMuchMemory(t *testing.T) {
	race.Skip(t, "one goroutine a process; TestSlateFeedbackAtOnce has several")
	dir := t.TempDir()
	var items, arms strings.Builder
	items.WriteString("id,feature.x,feature.y\n")
	for i := range 20_000 {
		fmt.Fprintf(&items, "%d,.01,.02\n", i)
	}
	for i := range 2000 {
		fmt.Fprintln(&arms, i)
	}
	many := clitest.WriteFile(t, dir, "many.csv", []byte(items.String()))
	state := filepath.Join(dir, "s.json")
	armsFile := clitest.WriteFile(t, dir, "many.txt", []byte(arms.String()))

	const limit = 256 << 20
	debug.FreeOSMemory() // what other tests have left takes none of it
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	for _, c := range []struct{ args, want string }{
		{"slate recommend -k 0 --items " + many + " --state " + state, "20000 of 20000 items takes 4506565000 bytes of memory"},
		{"slate recommend -k 5000 --items " + many + " --state " + state, "give a smaller -k than 5000"},
		{"slate simulate -k 0 --users 1 --rounds 1 --budget 1000000 --news-items 20000", "items takes 45"},
		{"slate simulate --news-items 9000000000000", "--news-items 9000000000000 of --news-topics 15 needs up to"},
		{"slate simulate --users 9223372036854775807", "trials; at most 10000000 are kept"},
		{"duel run --horizon 1e9 --arms " + armsFile, "a tournament of 2000 arms needs up to 256000000 bytes"},
		{"duel plan --horizon 1e9 --gap .1 --arms 2048 --threads 4", "duel plan: --trials 200 of --arms 2048 needs up to"},
		{"duel plan --horizon 1e9 --gap .1 --arms 4 --trials 9999999", "duel plan: --trials 9999999 of --arms 4 needs up to"},
		{"duel simulate --figure 2 --trials 1000000", "duel simulate: --trials 1000000 of every point needs up to"},
		{"duel simulate --figure 1 --arms 2048,2047,2046,2045,2044,2043", "duel simulate: --trials 100 of every point needs up to"},
	} {
		r := thresher(t, strings.Fields(c.args)...)
		if r.WantError(t, c.want); !strings.Contains(r.Err, "are available") && !strings.Contains(r.Err, "may be taken") && !strings.Contains(r.Err, "are kept") {
			t.Errorf("%s: no limit in %s", c.args, r.Err)
		}
	}
	if clitest.Exists(state) || clitest.Exists(armsFile+".duel") {
		t.Error("what was refused left a state")
	}
	debug.SetMemoryLimit(math.MaxInt64)
	recommended(t, "--items", many, "--state", state, "-k", "20")
}

// A file of few items and many topics is refused before memory for it is allocated.
func TestTooManyTopics(t *testing.T) {
	race.Skip(t, "one goroutine a process; TestSlateFeedbackAtOnce has several")
	dir := t.TempDir()
	var items strings.Builder
	for i := range 12_000 {
		fmt.Fprintf(&items, `{"id":"%d","groups":["author %d"]}`+"\n", i, i)
	}
	file := clitest.WriteFile(t, dir, "authors.jsonl", []byte(items.String()))
	debug.FreeOSMemory()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(256 << 20))
	thresher(t, "slate", "recommend", "--items", file, "--state", filepath.Join(dir, "s")).
		WantError(t, "authors.jsonl: 12000 items of 12000 topics take 2304000000 bytes of memory, and ")
	thresher(t, "slate", "simulate", "--data", file).WantError(t, "authors.jsonl: 12000 items of 12000 topics take")
	for i := range 5000 {
		fmt.Fprintf(&items, `{"id":"a%d","groups":["more %d"]}`+"\n", i, i)
	}
	file = clitest.WriteFile(t, dir, "more.jsonl", []byte(items.String()))
	thresher(t, "slate", "recommend", "--items", file, "--state", filepath.Join(dir, "s")).WantError(t, "17000 topics, and at most 16384 can be learned of")
}
