package servicetest

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Exchange is a request: its method, its path, and the media type and the body that it sends, none if the type is "".
// ID in its path or body is the latest id that the server gave.
type Exchange [4]string

// changing is what differs between two runs or processors.
var changing = regexp.MustCompile(`"(id|instance|input_file_id|seed|etag|[a-z_]*_at|predicted_ns|took_ms|took|bytes|ticket)":("[^"]*"|[0-9.e+-]+)|\b(file|batch|tournament)[-_][0-9a-z]{8,}\b`)

// CompareBodies sends requests and compares the answers with the file at path, which it writes first if write is set.
// What differs between two runs is left out of both.
func CompareBodies(t *testing.T, do func(method, path string, body any, header ...string) *Answer, all []Exchange, path string, write bool) {
	t.Helper()
	var seen bytes.Buffer
	id, given := "", regexp.MustCompile(`"id":"([^"]+)"`)
	for _, x := range all {
		method, path, media := x[0], x[1], x[2]
		var body any
		if media != "" {
			body = []byte(strings.ReplaceAll(x[3], "ID", id))
		}
		a := do(method, strings.ReplaceAll(path, "ID", id), body, "Content-Type", media)
		if made := given.FindSubmatch(a.Body); made != nil && method == http.MethodPost && a.Status < 300 {
			id = string(made[1])
		}
		text := changing.ReplaceAllStringFunc(string(a.Body), func(s string) string {
			if key, _, ok := strings.Cut(s, `":`); ok {
				return key + `":..`
			}
			return ".."
		})
		if strings.ContainsRune(text, 0) {
			text = fmt.Sprintf("%q", text)
		}
		fmt.Fprintf(&seen, "%s %s\n%d %s\n%s\n\n", method, path, a.Status, a.Header.Get("Content-Type"), strings.TrimSpace(text))
	}
	if write {
		if err := os.WriteFile(path, seen.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, want := strings.Split(seen.String(), "\n\n"), strings.Split(string(kept), "\n\n")
	if len(got) != len(want) {
		t.Fatalf("%d answers, and %d are kept", len(got)-1, len(want)-1)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("got\n%s\nwant\n%s", got[i], want[i])
		}
	}
}
