package corpus

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Notice names the owner and the licence of all texts, embedded or read.
const Notice = "(c) The Go Authors, BSD-3-Clause"

//go:embed extract.jsonl.gz
var extract []byte

// License is the licence of the embedded extract.
//
//go:embed LICENSE-go
var License string

// Limits of unpacking an extract, in bytes.
const (
	maxExtract = 16 << 20
	maxLine    = 1 << 20
)

// header is the first line of an extract; entries follow, one a line.
type header struct {
	Version string `json:"version"`
	Entries int    `json:"entries"`
	Notice  string `json:"notice"`
}

// Embedded returns the extract in the binary.
func Embedded() (*Corpus, error) { return readExtract(bytes.NewReader(extract)) }

// Load reads the Go tree of the machine or, if there is none, the embedded extract.
func Load(ctx context.Context) (*Corpus, error) {
	root, err := FindGoroot(ctx)
	if err != nil {
		return Embedded()
	}
	c, err := Read(ctx, root)
	if errors.Is(err, errNoGo) || (err == nil && len(c.Entries) == 0) {
		return Embedded()
	}
	return c, err
}

// WriteExtract writes c as gzipped JSON lines: a header, then the entries. The bytes depend
// on c only.
func (c *Corpus) WriteExtract(w io.Writer) error {
	zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(zw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(header{Version: c.Version, Entries: len(c.Entries), Notice: Notice}); err != nil {
		return fmt.Errorf("write extract: %w", err)
	}
	for _, e := range c.Entries {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("write extract: %s: %w", e.Symbol(), err)
		}
	}
	if err := zw.Close(); err != nil {
		return fmt.Errorf("write extract: %w", err)
	}
	return nil
}

// readExtract reads the output of WriteExtract. Errors name the line.
func readExtract(r io.Reader) (*Corpus, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("extract: %w", err)
	}
	defer zr.Close()
	limited := &io.LimitedReader{R: zr, N: maxExtract}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, maxLine)
	next := func(v any) error {
		if !lines.Scan() {
			return errors.Join(lines.Err(), io.ErrUnexpectedEOF)
		}
		return json.Unmarshal(lines.Bytes(), v)
	}
	var h header
	if err := next(&h); err != nil {
		return nil, fmt.Errorf("extract: line 1: %w", err)
	}
	if h.Entries < 0 {
		return nil, fmt.Errorf("extract: line 1: %d entries", h.Entries)
	}
	c := &Corpus{Version: h.Version}
	for i := range h.Entries {
		var e Entry
		if err := next(&e); err != nil {
			return nil, fmt.Errorf("extract: line %d of %d: %w", i+2, h.Entries+1, err)
		}
		c.Entries = append(c.Entries, e)
	}
	if lines.Scan() {
		return nil, fmt.Errorf("extract: more lines than the %d entries of its header", h.Entries)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("extract: %w", err)
	}
	if limited.N == 0 {
		return nil, fmt.Errorf("extract: more than %d bytes", maxExtract)
	}
	return c, nil
}
