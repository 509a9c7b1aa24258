package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestConfigShow(t *testing.T) {
	file := writeFile(t, t.TempDir(), "c.yaml", []byte("delta: 0.2\nseed: 9\n"))
	t.Setenv("THRESHER_CONFIG", file)
	t.Setenv("THRESHER_SEED", "8")

	r := thresher(t, "config", "show", "-k", "3")
	r.wantCode(t, exitOK)
	for _, want := range [][]string{
		{"delta", "0.2", "file " + file},
		{"seed", "8", "environment THRESHER_SEED"},
		{"k", "3", "flag --k"},
		{"method", "auto", "default"},
	} {
		found := false
		for line := range strings.Lines(r.out) {
			f := strings.Fields(line)
			found = found || len(f) > 2 && f[0] == want[0] && f[1] == want[1] && strings.Join(f[2:], " ") == want[2]
		}
		if !found {
			t.Errorf("no line %v in\n%s", want, r.out)
		}
	}

	r = thresher(t, "config", "show", "--json")
	r.wantCode(t, exitOK)
	var got struct {
		File     string
		Settings []struct {
			Key    string
			Value  any
			Origin struct{ Kind, Name string }
		}
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err)
	}
	if got.File != file || len(got.Settings) < 10 {
		t.Errorf("%+v", got)
	}
}

func TestVersion(t *testing.T) {
	// A broken configuration must not keep anyone from reporting a version.
	t.Setenv("THRESHER_CONFIG", "/nothing/c.yaml")
	r := thresher(t, "version", "--json")
	r.wantCode(t, exitOK)
	var b buildInfo
	if err := json.Unmarshal([]byte(r.out), &b); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.Go, "go") || b.Platform == "" || b.Version == "" || b.Kernels == "" {
		t.Errorf("%+v", b)
	}
	r = thresher(t, "version")
	r.wantCode(t, exitOK)
	if !strings.Contains(r.out, b.Go) {
		t.Error(r.out)
	}
}

func TestProgressIsQuietWithoutTerminal(t *testing.T) {
	a := &app{}
	p := a.newProgress("x")
	p.begun = p.begun.Add(-2 * longRun)
	p.set(1, 2) // would write to a nil writer
	p.done()
}

func TestProgressIsDrawnWhenLong(t *testing.T) {
	var b strings.Builder
	a := &app{err: &b, isTerminal: true}
	p := a.newProgress("counting sheep")
	p.set(1, 4)
	if b.Len() > 0 {
		t.Errorf("a short stage draws %q", b.String())
	}
	p.begun = p.begun.Add(-2 * longRun)
	p.set(2, 4)
	if !strings.Contains(b.String(), "counting sheep") {
		t.Errorf("a long stage draws %q", b.String())
	}
	p.done()
	p.done()
}

func TestNamesByFrequency(t *testing.T) {
	got := names(map[string]int64{"exact": 1, "adaptive": 5, "certain": 1}, "auto")
	if got != "adaptive, certain, exact" {
		t.Error(got)
	}
	if names(map[string]int64{}, "auto") != "auto" {
		t.Error("nothing counted is not the other name")
	}
}
