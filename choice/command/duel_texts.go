package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"thresher/internal/cli"
	"thresher/internal/plaintext"
)

const (
	maxText  = 1 << 20 // bytes of an arm's text
	maxTexts = 1 << 28 // bytes of all texts
)

// armTexts are the texts of arms, by name.
type armTexts struct {
	path  string
	names []string // in the order of the file; of a folder, ascending
	of    map[string]string
	bytes int
}

// readTexts reads a folder, whose files are the texts of the arms of their names, with or
// without .txt; or lines {"arm":"x","text":"..."}. Errors name file and line.
func readTexts(path string) (*armTexts, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	x := &armTexts{path: path, of: map[string]string{}}
	if info.IsDir() {
		return x, x.readFolder()
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := x.readLines(f); err != nil {
		return nil, fmt.Errorf("%s, %w", path, err)
	}
	return x, nil
}

func (x *armTexts) add(name, text string) error {
	if first, ok := x.of[name]; ok {
		return fmt.Errorf("%q has two texts, of which one begins %.40q", name, first)
	}
	if x.bytes += len(text); len(text) > maxText || x.bytes > maxTexts {
		return fmt.Errorf("the text of %q has %d bytes, all so far %d; at most %d each and %d together", name, len(text), x.bytes, maxText, maxTexts)
	}
	if name == "" || strings.TrimSpace(text) == "" {
		return fmt.Errorf("arm %q: the name or the text is empty", name)
	}
	if !utf8.ValidString(name) || !utf8.ValidString(text) { // JSON would change it
		return fmt.Errorf("arm %.40q: the name or the text is not UTF-8", name)
	}
	x.names = append(x.names, name)
	x.of[name] = strings.TrimRight(text, "\r\n")
	return nil
}

func (x *armTexts) readFolder() error {
	files, err := os.ReadDir(x.path) // ascending
	if err != nil {
		return err
	}
	for _, file := range files {
		path := filepath.Join(x.path, file.Name())
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if strings.HasPrefix(file.Name(), ".") || !info.Mode().IsRegular() || filepath.Ext(path) == ".duel" {
			continue
		}
		if info.Size() > maxText {
			return fmt.Errorf("%s: %d bytes; a text has at most %d", path, info.Size(), maxText)
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = x.add(strings.TrimSuffix(file.Name(), ".txt"), string(text))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func (x *armTexts) readLines(r io.Reader) error {
	const form = `a text is {"arm":"x","text":"..."}, one a line`
	lines, err := plaintext.JSON(r)
	if err != nil {
		return err
	}
	s := bufio.NewScanner(lines)
	s.Buffer(nil, 2*maxText)
	number := 0
	for s.Scan() {
		number++
		if strings.TrimSpace(s.Text()) == "" {
			continue
		}
		var line struct{ Arm, Text *string }
		d := json.NewDecoder(strings.NewReader(s.Text()))
		d.DisallowUnknownFields()
		err := d.Decode(&line)
		if err != nil {
			err = cli.InWords(err, "a text")
		} else if _, end := d.Token(); end != io.EOF {
			err = errors.New("extra data after the text")
		}
		switch {
		case err != nil:
		case line.Arm == nil:
			err = errors.New("arm is missing")
		case line.Text == nil:
			err = errors.New("text is missing")
		default:
			if err := x.add(*line.Arm, *line.Text); err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
		}
		if err != nil {
			return fmt.Errorf("line %d: %w; %s", number, err, form)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("line %d: %w; a line has at most %d bytes", number+1, err, 2*maxText)
	}
	return nil
}

// cover returns an error that names an arm without a text, or two with the same; x may be nil.
func (x *armTexts) cover(arms []string) error {
	if x == nil {
		return nil
	}
	armOf := map[string]string{}
	for _, name := range arms {
		text := x.of[name]
		if text == "" {
			return fmt.Errorf("%s: %w of arm %q", x.path, errNoText, name)
		}
		if other, ok := armOf[text]; ok {
			return fmt.Errorf("%s: arms %q and %q have the same text, so that nobody can tell them apart; leave one of them out", x.path, other, name)
		}
		armOf[text] = name
	}
	return nil
}

// other returns how many texts are of no arm of a tournament, and the name of one; x may be nil.
func (x *armTexts) other(arms []string) (count int, name string) {
	if x == nil {
		return 0, ""
	}
	known := map[string]bool{}
	for _, arm := range arms {
		known[arm] = true
	}
	for _, n := range x.names {
		if !known[n] {
			count++
			name = n
		}
	}
	return count, name
}

var errNoText = fmt.Errorf("no text (%w)", fs.ErrNotExist)

// text returns the text of an arm, which is its name if there are no texts.
func (x *armTexts) text(name string) string {
	if x == nil {
		return name
	}
	return x.of[name]
}
