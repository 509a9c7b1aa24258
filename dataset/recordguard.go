package dataset

import (
	"bytes"
	"io"
)

// recordGuard limits the bytes and the fields of each record of comma-separated values before they are split, and
// with them the memory of a reader: an unclosed quote would otherwise take the rest of the file, and a field takes
// forty times its separator.
type recordGuard struct {
	r      io.Reader
	comma  []byte
	budget *Budget
	bytes  int64 // of the record that has begun
	fields int64 // its separators
	quoted bool  // inside quotes, where neither separators nor ends of lines count
	err    error // once the bytes before it are read
}

func (g *recordGuard) Read(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.r.Read(p)
	for at := 0; at < n; {
		next := at + g.line(p[at:n])
		if g.err != nil && at > 0 {
			return at, nil // the records before it are whole
		}
		if g.err != nil {
			return 0, g.err
		}
		at = next
	}
	return n, err
}

// line counts what p begins with, up to the end of a line, and returns its bytes.
func (g *recordGuard) line(p []byte) int {
	n := bytes.IndexByte(p, '\n') + 1
	ends := n > 0
	if !ends {
		n = len(p)
	}
	for rest := p[:n]; len(rest) > 0; {
		part := rest
		quote := bytes.IndexByte(rest, '"')
		if quote >= 0 {
			part = rest[:quote]
		}
		if !g.quoted {
			g.fields += int64(bytes.Count(part, g.comma))
		}
		if quote < 0 {
			break
		}
		g.quoted, rest = !g.quoted, rest[quote+1:]
	}
	g.bytes += int64(n)
	switch b := g.budget; {
	case g.bytes > b.Row:
		g.err = b.exceeds(b.Row, "a row is longer than %d bytes", b.Row)
	case g.fields >= b.Columns:
		g.err = b.exceeds(b.Columns, "a row has more than %d columns", b.Columns)
	}
	if ends && !g.quoted {
		g.bytes, g.fields = 0, 0
	}
	return n
}

// byteGuard limits the bytes between two answers, and with them a reader's memory.
type byteGuard struct {
	r      io.Reader
	budget *Budget
	left   int64
}

func (g *byteGuard) Read(p []byte) (int, error) {
	if g.left <= 0 {
		return 0, g.budget.exceeds(g.budget.Row, "an answer is longer than %d bytes", g.budget.Row)
	}
	n, err := g.r.Read(p[:min(int64(len(p)), g.left)])
	g.left -= int64(n)
	return n, err
}
