package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// TestJoinGroups: the groups of a join are the keys that rows of both tables have, as in Python (test_groups_are_keys_of_both).
func TestJoinGroups(t *testing.T) {
	dir := t.TempDir()
	table := func(name string, keys ...string) string {
		var b strings.Builder
		for _, key := range keys {
			if key != "null" {
				key = `"` + key + `"`
			}
			b.WriteString(`{"key":` + key + `,"v":[1]}` + "\n")
		}
		return clitest.WriteFile(t, dir, name, []byte(b.String()))
	}
	right := table("right.jsonl", "b", "c", "c", "d", "a", "null")
	for i, c := range []struct {
		left []string
		want int
	}{{[]string{"a", "b", "b", "null", "x"}, 2}, {[]string{"a", "b", "b"}, 2}, {[]string{"a"}, 1}, {[]string{"null", "x"}, 0}} {
		left := table("left"+string(rune('0'+i))+".jsonl", append(c.left, "null")...)
		got := thresher(t, "join", "--left", left, "--right", right, "--on", "v", "--metric", "ip", "--by", "key", "--json", "--overwrite", "--out", filepath.Join(dir, "out.jsonl"))
		got.WantCode(t, cli.ExitOK)
		var says struct{ Groups *int }
		if err := json.Unmarshal([]byte(got.Out), &says); err != nil || says.Groups == nil || *says.Groups != c.want {
			t.Errorf("left %v: %s, %v; want %d groups", c.left, got.Out, err, c.want)
		}
	}
}
