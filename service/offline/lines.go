package offline

import (
	"bufio"
	"bytes"
	"io"
)

// lineReader reads lines of bounded length. It skips blank lines, and a byte order mark
// before the first line.
type lineReader struct {
	r    *bufio.Reader
	most int   // bytes of a line
	at   int64 // number of the last line read, from 1
	buf  []byte
}

func newLineReader(r io.Reader, most int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 256<<10), most: most}
}

// nextLine returns the next line, without its end, in memory that the following call reuses.
// A line above the limit is skipped, and long set. After the last line it returns io.EOF.
func (l *lineReader) nextLine() (text []byte, long bool, err error) {
	for {
		text, long, err := l.line()
		if err != nil {
			return nil, false, err
		}
		l.at++
		if l.at == 1 {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		}
		if text = bytes.TrimSpace(text); long || len(text) > 0 {
			return text, long, nil
		}
	}
}

func (l *lineReader) line() (text []byte, long bool, err error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if !long {
			if len(l.buf)+len(part) > l.most+2 { // the end of a line may have two bytes
				long = true
			} else {
				l.buf = append(l.buf, part...)
			}
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && (len(l.buf) > 0 || long):
			return l.buf, long, nil
		case err != nil:
			return nil, false, err
		}
		return l.buf, long, nil
	}
}
