package cli

import (
	"strings"
	"testing"
)

func TestProgressIsQuietWithoutTerminal(t *testing.T) {
	var b strings.Builder
	a := &App{Err: &b}
	p := a.NewProgress("x")
	p.begun = p.begun.Add(-2 * longRun)
	p.Set(1, 2)
	p.Done()
	if b.Len() > 0 {
		t.Errorf("it draws %q", b.String())
	}
}

func TestProgressIsDrawnWhenLong(t *testing.T) {
	var b strings.Builder
	a := &App{Err: &b, Terminal: true}
	p := a.NewProgress("counting sheep")
	p.Set(1, 4)
	if b.Len() > 0 {
		t.Errorf("a short stage draws %q", b.String())
	}
	p.begun = p.begun.Add(-2 * longRun)
	p.Set(2, 4)
	if !strings.Contains(b.String(), "counting sheep") {
		t.Errorf("a long stage draws %q", b.String())
	}
	p.Done()
	p.Done()
}
