//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, test := range []struct {
		sorted []time.Duration
		p      int
		want   time.Duration
	}{{nil, 50, 0}, {hundred[:1], 99, 1}, {hundred[:2], 50, 1}, {hundred[:3], 50, 2}, {hundred, 50, 50}, {hundred, 99, 99}, {hundred, 100, 100}} {
		if got := percentile(test.sorted, test.p); got != test.want {
			t.Errorf("percentile %d of %d values is %d, want %d", test.p, len(test.sorted), got, test.want)
		}
	}
}

func TestBest(t *testing.T) {
	m := &matrix{2, []float32{1, 0, 0, 1, 3, 0}}
	if got := best(m, []int64{7, 8, 9}, []float32{1, .5}, 2); !slices.Equal(got, []int64{9, 7}) {
		t.Errorf("the best are %v", got)
	}
}

// TestAnswer: what a caller reads of responses, and when it waits.
func TestAnswer(t *testing.T) {
	for _, test := range []struct {
		text   string
		status int
		after  time.Duration
		ok     bool
	}{
		{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", 200, 0, true},
		{"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n", 429, 2 * time.Second, true},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbody", 200, 0, false},
		{"HTTP/1.1 200 OK\r\n\r\nbody", 0, 0, false},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n", 200, 0, true},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n", 0, 0, false},
		{"HTTP/1.1 200", 0, 0, false},
	} {
		c := &caller{in: bufio.NewReader(strings.NewReader(test.text))}
		status, after, err := c.answer()
		if status != test.status || after != test.after || (err == nil) != test.ok {
			t.Errorf("%q is status %d, after %v, %v", test.text, status, after, err)
		}
	}
}

func TestMutated(t *testing.T) {
	b := []byte("a body of some length")
	same := 0
	for seed := range uint64(200) {
		before := bytes.Clone(b)
		one, two := mutated(b, rand.New(rand.NewPCG(seed, 1))), mutated(b, rand.New(rand.NewPCG(seed, 1)))
		if !bytes.Equal(one, two) || !bytes.Equal(b, before) {
			t.Fatalf("seed %d: %q and %q of %q", seed, one, two, b)
		}
		if bytes.Equal(one, b) {
			same++
		}
	}
	if same > 40 {
		t.Errorf("%d of 200 bodies are as they were", same)
	}
}

// TestPage: a section is replaced, and nothing else.
func TestPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	const before, after = "# Title\n<!-- a -->\n", "<!-- end of a -->\nrest\n"
	if err := os.WriteFile(path, []byte(before+"old\n"+after), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPage(&run{page: path, out: io.Discard}, "a")
	p.row("x", "y")
	p.row("1", "2")
	p.later("The %s.", "end")
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := before + "\n| x | y |\n| --- | --- |\n| 1 | 2 |\n\nThe end.\n\n" + after; string(text) != want {
		t.Errorf("the page is %q, want %q", text, want)
	}
	if err := newPage(&run{page: path, out: io.Discard}, "b").end(); err == nil {
		t.Error("a page without the section was written")
	}
}

func TestNothingLeft(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, fine := range map[string]bool{"meta.db": true, "slates.db": true, "format.json": true, "files/meta.db": false} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := nothingLeft(dir); (err == nil) != fine {
			t.Errorf("with %s: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNothingListed: whatever a server still lists is named.
func TestNothingListed(t *testing.T) {
	for _, left := range append(listedPaths(), "") {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			list := `{"data":[]}`
			if r.URL.Path == left {
				list = `{"data":[{"id":"one"}]}`
			}
			_, _ = io.WriteString(w, list)
		}))
		defer server.Close()
		err := nothingListed(t.Context(), newAPI(server.URL))
		if left == "" && err != nil || left != "" && (err == nil || !strings.Contains(err.Error(), left+" lists [one]")) {
			t.Errorf("of %q one is left: %v", left, err)
		}
	}
}

// TestInTime: what is late fails with the limit and with what it was at; what is not, or ends for
// another reason, does not speak of the limit.
func TestInTime(t *testing.T) {
	busy := errors.New("busy")
	wait := func(ctx context.Context) error { <-ctx.Done(); return busy }
	if err := inTime(t.Context(), time.Millisecond, wait); !errors.Is(err, errLate) || !errors.Is(err, busy) || !strings.Contains(err.Error(), "1ms") {
		t.Errorf("late work: %v", err)
	}
	if err := inTime(t.Context(), time.Hour, func(context.Context) error { return nil }); err != nil {
		t.Errorf("work in time: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := inTime(ctx, time.Hour, wait); errors.Is(err, errLate) || !errors.Is(err, busy) {
		t.Errorf("interrupted work: %v", err)
	}
}

// TestDiffers: members that are new are no difference, all others are, and are named.
func TestDiffers(t *testing.T) {
	parse := func(text string) (v any) {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	earlier := parse(`{"a":1,"list":[{"b":"x"},2],"none":null}`)
	for now, want := range map[string]string{
		`{"a":1,"list":[{"b":"x","more":1},2],"none":null,"new":{}}`: "",
		`{"a":2,"list":[{"b":"x"},2],"none":null}`:                   ".a was 1 and is 2",
		`{"a":1,"list":[{"b":"y"},2],"none":null}`:                   ".list[0].b was x and is y",
		`{"a":1,"list":[{"b":"x"}],"none":null}`:                     ".list was [map[b:x] 2] and is [map[b:x]]",
		`{"list":[{"b":"x"},2]}`:                                     ".a was 1 and is <nil>",
		`7`:                                                          " was map[a:1 list:[map[b:x] 2] none:<nil>] and is 7",
	} {
		if got := differs(earlier, parse(now)); got != want {
			t.Errorf("%s: %q, want %q", now, got, want)
		}
	}
}

// TestPacked: what is packed is unpacked, and the packed folder of this package was at work.
func TestPacked(t *testing.T) {
	u := &upgrade{run: &run{folder: t.TempDir()}}
	if err := u.unpack(earlier); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "again")
	if err := u.pack(file); err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	again := &upgrade{run: &run{folder: t.TempDir()}}
	if err := again.unpack(packed); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(u.said, again.said) || len(u.said.Answers) < 20 {
		t.Errorf("%d answers became %d", len(u.said.Answers), len(again.said.Answers))
	}
	for _, id := range u.said.Running[:2] {
		if _, err := os.Stat(filepath.Join(again.dir, "batches", id, "progress")); err != nil {
			t.Error(err)
		}
	}
	if rows, err := filepath.Glob(filepath.Join(again.dir, "collections", "late-*.rows.npy")); err != nil || len(rows) != 1 {
		t.Error("the rows of the collection that was being built:", rows, err)
	}
}

func TestCommandsAreRefused(t *testing.T) {
	for _, args := range [][]string{nil, {"unknown"}, {"load", "-unknown"}, {"crash", "-h"}} {
		err := command(context.Background(), args, io.Discard)
		if err == nil || errors.Is(err, errNoAnswer) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
