//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// page reports what a command finds: to the output as it runs and, if the run has a page, to
// the section of the command's name at its end.
type page struct {
	r       *run
	section string
	text    strings.Builder
	last    []string // to be printed at the end
	columns int
}

func newPage(r *run, section string) *page { return &page{r: r, section: section} }

// printf prints a paragraph.
func (p *page) printf(format string, args ...any) {
	p.columns = 0
	p.say("\n" + fmt.Sprintf(format, args...))
}

// row prints a row of a table; the first row starts it.
func (p *page) row(cells ...string) {
	if p.columns == 0 {
		p.say("")
	}
	p.say("| " + strings.Join(cells, " | ") + " |")
	if p.columns == 0 {
		p.say("|" + strings.Repeat(" --- |", len(cells)))
	}
	p.columns = len(cells)
}

// later prints a sentence after the table.
func (p *page) later(format string, args ...any) {
	p.last = append(p.last, fmt.Sprintf(format, args...))
}

func (p *page) say(line string) {
	p.text.WriteString(line + "\n")
	fmt.Fprintln(p.r.out, line)
}

// machine prints the machine and the date.
func (p *page) machine() {
	model := "an unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if _, name, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(line, "model name") {
				model = strings.TrimSpace(name)
				break
			}
		}
	}
	p.printf("%s, %d cores, %s, %s.", model, runtime.NumCPU(), runtime.Version(), time.Now().UTC().Format(time.DateOnly))
}

// end writes the section.
func (p *page) end() error {
	for _, s := range p.last {
		p.printf("%s", s)
	}
	if p.r.page == "" {
		return nil
	}
	old, err := os.ReadFile(p.r.page)
	if err != nil {
		return err
	}
	open, end := []byte("<!-- "+p.section+" -->\n"), []byte("<!-- end of "+p.section+" -->\n")
	before, rest, found := bytes.Cut(old, open)
	_, after, ended := bytes.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s has no section %s", p.r.page, p.section)
	}
	var b bytes.Buffer
	for _, part := range [][]byte{before, open, []byte(p.text.String()), []byte("\n"), end, after} {
		b.Write(part)
	}
	return os.WriteFile(p.r.page, b.Bytes(), 0o644)
}
