package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"thresher/dataset/jsonscan"
)

// jsonl reads one vector a line: an array of numbers, or an object with a field that is
// one. Blank lines and a byte order mark are skipped.
type jsonl struct {
	name   string
	lines  lineReader
	shut   io.Closer
	opt    Options
	dim    int
	next   int64
	first  []float64 // row 0, read by openJSONL
	ids    []string
	held   string   // id of row 0
	strict bool     // a field called id is refused: that of row 0 is missing or no id
	fields []string // of the first object
	meter  idMeter
	err    error
}

func openJSONL(src *source, opt Options) (Reader, error) {
	j := &jsonl{name: src.name, lines: src.lines(), shut: src, opt: opt, meter: idMeter{budget: src.budget}}
	line, err := j.line()
	if err == io.EOF {
		return nil, fail(j.name, "%w: the file holds only blank lines", ErrNoRows)
	}
	if err != nil {
		return nil, err
	}
	if line[0] == '{' {
		if err := j.meter.budget.checkFields(line); err != nil {
			return nil, j.place(err)
		}
	}
	if opt.IDs == "" && opt.FindIDs && line[0] == '{' && opt.Column != idName && hasID(line) {
		j.opt.IDs, opt.IDs = idName, idName
	}
	if opt.Column == "" && line[0] == '{' {
		if j.opt.Column, err = j.chooseField(line, opt); err != nil {
			return nil, j.place(err)
		}
	}
	j.strict = opt.findsIDs() && !opt.OneRow && j.opt.Column != idName
	if j.first, j.held, err = j.parse(nil, line); err != nil {
		return nil, err
	}
	if line[0] == '{' {
		_, _ = jsonscan.Fields(line, 0, func(key []byte, at int) (int, error) { // the line was parsed before
			j.fields = append(j.fields, string(key))
			return jsonscan.Value(line, at)
		})
	}
	if len(j.first) == 0 {
		return nil, failAt(j.name, 0, -1, "rows have zero columns")
	}
	j.dim = len(j.first)
	return opt.narrow(j, j.name), nil
}

// hasID reports whether an object has an id under the name that is searched for.
func hasID(line []byte) bool {
	found := false
	_, err := jsonscan.Fields(line, 0, func(key []byte, at int) (int, error) {
		if string(key) == idName {
			_, _, err := parseID(line, at)
			found = err == nil
		}
		return jsonscan.Value(line, at)
	})
	return found && err == nil
}

func (j *jsonl) layout() Layout {
	l := Layout{IDs: j.opt.IDs, Dropped: without(j.fields, j.opt.Column, j.opt.IDs)}
	if j.opt.Column != "" {
		l.Vector = []string{j.opt.Column}
	}
	return l
}

func (j *jsonl) Dim() int     { return j.dim }
func (j *jsonl) Len() int64   { return -1 }
func (j *jsonl) Close() error { return j.shut.Close() }

func (j *jsonl) IDs() []string {
	if j.opt.IDs == "" {
		return nil
	}
	return j.ids
}

// Read is not used: texts are read as float64 first.
func (j *jsonl) Read([]float32) (int, error) { return 0, errWide }

func (j *jsonl) isWide() bool { return true }

func (j *jsonl) readWide(dst []float64) (int, error) {
	j.ids = j.ids[:0]
	j.meter.begin()
	if j.err != nil {
		return 0, j.err
	}
	if len(dst) < j.dim {
		return 0, io.ErrShortBuffer
	}
	n := 0
	for ; n < len(dst)/j.dim && !j.meter.full(); n++ {
		if j.err = j.row(dst[n*j.dim : (n+1)*j.dim]); j.err != nil {
			break
		}
		j.next++
	}
	if j.err == io.EOF && n > 0 {
		return n, nil
	}
	return n, j.err
}

// row fills dst with the next row.
func (j *jsonl) row(dst []float64) error {
	if j.next == 0 {
		copy(dst, j.first)
		j.first = nil
		j.ids = append(j.ids, j.held)
		return nil
	}
	line, err := j.line()
	if err != nil {
		return err
	}
	// A row that is too long is reallocated and does not overwrite what follows dst.
	v, id, err := j.parse(dst[:0:len(dst)], line)
	if err != nil {
		return err
	}
	if len(v) != len(dst) {
		return j.place(fmt.Errorf("row has %d columns, the first has %d", len(v), len(dst)))
	}
	j.ids = append(j.ids, id)
	return nil
}

// line returns the next non-blank line without surrounding white space.
func (j *jsonl) line() ([]byte, error) {
	for {
		line, err := j.lines.next()
		if err == io.EOF {
			return nil, err
		}
		if err != nil {
			return nil, failAt(j.name, j.next, -1, "%w", err)
		}
		if j.lines.number == 1 {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// parse appends the vector of a line to dst.
func (j *jsonl) parse(dst []float64, line []byte) (v []float64, id string, err error) {
	end := 0
	switch {
	case line[0] == '{' && j.opt.Column == "":
		err = errors.New("line is an object, the first is an array")
	case line[0] == '{':
		v, id, end, err = j.object(dst, line)
	case j.opt.Column != "":
		err = fmt.Errorf("line is not an object, so it has no field %q", j.opt.Column)
	case j.opt.IDs != "":
		err = fmt.Errorf("line is not an object, so it has no field %q", j.opt.IDs)
	default:
		v, end, err = j.meter.budget.doubles(dst, line, 0)
	}
	if err == nil && end != len(line) {
		err = jsonscan.Wanted(line, end, "the end of the line")
	}
	if err != nil {
		return nil, "", j.place(err)
	}
	return v, id, nil
}

func (j *jsonl) object(dst []float64, line []byte) (v []float64, id string, end int, err error) {
	vector, named := false, false
	end, err = jsonscan.Fields(line, 0, func(key []byte, at int) (next int, err error) {
		switch string(key) {
		case j.opt.Column:
			if vector {
				return at, fmt.Errorf("field %q appears twice", key)
			}
			vector = true
			v, next, err = j.meter.budget.doubles(dst, line, at)
			return next, err
		case j.opt.IDs:
			if j.opt.IDs == "" {
				break
			}
			if named {
				return at, fmt.Errorf("field %q appears twice", key)
			}
			named = true
			if id, next, err = parseID(line, at); err == nil {
				err = j.meter.add(len(id))
			}
			return next, err
		case idName:
			if next, err = jsonscan.Value(line, at); err == nil && j.strict {
				err = fmt.Errorf("field %w", j.opt.noIDs(j.amiss(line[at:next])))
			}
			return next, err
		}
		return jsonscan.Value(line, at)
	})
	switch {
	case err != nil:
	case !vector:
		err = fmt.Errorf("object has no field %q", j.opt.Column)
	case !named && j.opt.IDs != "":
		err = fmt.Errorf("object has no field %q for the id", j.opt.IDs)
	}
	return v, id, end, err
}

// amiss says what is wrong with the value of a field called id.
func (j *jsonl) amiss(value []byte) string {
	if _, _, err := parseID(value, 0); j.next > 0 && err == nil {
		return "missing in row 0"
	}
	return fmt.Sprintf("%.40s", value)
}

// parseID parses a string or an integer.
func parseID(b []byte, i int) (string, int, error) {
	if i < len(b) && b[i] == '"' {
		s, end, err := jsonscan.Name(b, i)
		return string(s), end, err
	}
	end := jsonscan.Number(b, i)
	if end < 0 || bytes.ContainsAny(b[i:end], ".eE") {
		return "", i, jsonscan.Wanted(b, i, "an id, a string or an integer,")
	}
	return string(b[i:end]), end, nil
}

// chooseField returns the one field of the first line that is an array of numbers.
func (j *jsonl) chooseField(line []byte, opt Options) (string, error) {
	var all, found []string
	_, err := jsonscan.Fields(line, 0, func(key []byte, at int) (int, error) {
		all = append(all, string(key))
		if at < len(line) && line[at] == '[' && string(key) != opt.IDs {
			v, next, err := j.meter.budget.doubles(nil, line, at)
			if err == nil && len(v) > 0 {
				found = append(found, string(key))
				return next, nil
			}
		}
		next, err := jsonscan.Value(line, at)
		if err != nil {
			// An array spoiled by NaN or the like is reported later, with its column.
			_, i, e := j.meter.budget.doubles(nil, line, at)
			if e != nil && i > at && i < len(line) && !bytes.ContainsRune([]byte(`[{"`), rune(line[i])) {
				err = e
			}
		}
		return next, err
	})
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 1:
		return found[0], refuseFound(found[0], found[0], found, opt.words().Column)
	case 0:
		return "", fmt.Errorf("no field is an array of numbers; the object has %s", listed(all))
	}
	return "", severalFound("fields", found, opt.words().Column)
}

// place adds row, line and, if known, column to an error.
func (j *jsonl) place(err error) error {
	column := int64(-1)
	var c *jsonscan.ElementError
	if errors.As(err, &c) {
		column = int64(c.Index)
	}
	return failAt(j.name, j.next, column, "line %d: %w", j.lines.number, err)
}

// doubles is jsonscan.Doubles of no more numbers than there may be columns.
func (b *Budget) doubles(dst []float64, text []byte, i int) ([]float64, int, error) {
	all, next, err := jsonscan.Doubles(dst, text, i, int(b.Columns))
	if errors.Is(err, jsonscan.ErrTooMany) {
		err = b.exceeds(b.Columns, "a row has more than %d columns", b.Columns)
	}
	return all, next, err
}

// checkFields refuses an object with more fields than there may be columns. Whatever else is wrong with it is
// reported elsewhere.
func (b *Budget) checkFields(line []byte) error {
	n := int64(0)
	_, err := jsonscan.Fields(line, 0, func(_ []byte, at int) (int, error) {
		if n++; n > b.Columns {
			return at, b.exceeds(b.Columns, "the object has more than %d fields", b.Columns)
		}
		return jsonscan.Value(line, at)
	})
	var limit *LimitError
	if errors.As(err, &limit) {
		return err
	}
	return nil
}

// lineReader splits a stream into lines of any length that the budget allows.
type lineReader struct {
	r      *bufio.Reader
	budget *Budget
	long   []byte
	number int64 // of the last line, 1-based
}

// lines returns a reader of the lines of a source.
func (s *source) lines() lineReader { return lineReader{r: s.r, budget: s.budget} }

// next returns a line without its end, valid until the following call. The last line may
// lack its newline.
func (l *lineReader) next() ([]byte, error) {
	l.number++
	part, err := l.r.ReadSlice('\n')
	l.long = l.long[:0]
	for ; err == bufio.ErrBufferFull && l.fits(part); part, err = l.r.ReadSlice('\n') {
		l.long = append(l.long, part...)
	}
	if !l.fits(part) {
		return nil, l.budget.exceeds(l.budget.Row, "line %d is longer than %d bytes", l.number, l.budget.Row)
	}
	if err == nil && len(l.long) == 0 {
		return part[:len(part)-1], nil
	}
	l.long = append(l.long, part...)
	if err != nil && (err != io.EOF || len(l.long) == 0) {
		if err == io.EOF {
			return nil, err
		}
		return nil, cutShort(err)
	}
	return bytes.TrimSuffix(l.long, []byte("\n")), nil
}

// fits reports whether the line may have the bytes that follow those read.
func (l *lineReader) fits(more []byte) bool {
	return int64(len(l.long)+len(more)) <= l.budget.Row+1 // and its end
}
