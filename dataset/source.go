package dataset

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"unicode/utf8"

	"thresher/internal/plaintext"
)

// source is an open input and its properties.
type source struct {
	name   string
	r      *bufio.Reader // from the first byte
	at     io.ReaderAt   // nil for streams
	size   int64         // bytes; -1 for streams
	memory *bytes.Reader // what r reads if that is in memory, else nil
	budget *Budget       // of its readers, without zeros
	shut   []io.Closer   // closed in order
}

const streamBuffer = 256 << 10

func (s *source) Close() error {
	var first error
	for _, c := range s.shut {
		if err := c.Close(); err != nil && first == nil {
			first = err
		}
	}
	s.shut = nil
	return first
}

// openSource opens a path; "-" is standard input, which Close leaves open.
func openSource(path string, gzipped bool) (*source, error) {
	if path == "-" {
		return newSource(os.Stdin, "standard input"), nil
	}
	f, err := os.Open(path)
	var named *fs.PathError
	if errors.As(err, &named) {
		err = named.Err // fail names the file
	}
	if err != nil {
		return nil, fail(path, "%w", err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fail(path, "is a directory")
	}
	if err != nil {
		f.Close()
		return nil, located(path, -1, err)
	}
	if !gzipped && info.Mode().IsRegular() {
		gzipped = unnamedGzip(f, path)
	}
	if gzipped {
		return gzipSource(f, path)
	}
	s := newSource(f, path)
	s.shut = []io.Closer{f}
	if info.Mode().IsRegular() {
		s.at, s.size = f, info.Size()
		if s.size == 0 {
			f.Close()
			return nil, fail(path, "file is empty")
		}
	}
	return s, nil
}

// unnamedGzip reports whether a file whose name says nothing is compressed with gzip.
func unnamedGzip(f *os.File, path string) bool {
	if format, _ := FormatOf(path); format != Unknown {
		return false
	}
	var head [2]byte
	_, err := f.ReadAt(head[:], 0)
	return err == nil && head == [2]byte{0x1f, 0x8b}
}

func gzipSource(f *os.File, path string) (*source, error) {
	z, err := gzip.NewReader(bufio.NewReaderSize(f, streamBuffer))
	if err != nil {
		f.Close()
		return nil, fail(path, "not readable as gzip: %w", cutShort(err))
	}
	s := newSource(z, path)
	s.shut = []io.Closer{z, f}
	return s, nil
}

// newSource buffers r. If r knows how little is left, as readers of package bytes do, the
// buffer is no larger than that: for small inputs allocating it is most of the work.
func newSource(r io.Reader, name string) *source {
	size := streamBuffer
	if l, ok := r.(interface{ Len() int }); ok && l.Len() >= 0 {
		size = min(size, max(l.Len()+1, 512))
	}
	s := &source{name: name, r: bufio.NewReaderSize(r, size), size: -1, budget: (*Budget)(nil).of(-1)}
	if b, ok := r.(*bytes.Reader); ok && int64(b.Len()) == b.Size() {
		s.memory = b
	}
	return s
}

// limit sets the budget of the readers.
func (s *source) limit(b *Budget) { s.budget = b.of(s.size) }

// zip reads the directory of a zip, whose entries take some ten times its bytes.
func (s *source) zip() (*zip.Reader, error) {
	at := &limitedAt{r: s.at, left: s.budget.header()}
	z, err := zip.NewReader(at, s.size)
	switch {
	case at.left < 0:
		return nil, fail(s.name, "%w", s.budget.exceeds(s.budget.header(), "the directory of the zip is longer than %d bytes", s.budget.header()))
	case err != nil:
		return nil, fail(s.name, "not readable as npz: %w", err)
	}
	at.free = true
	return z, nil
}

// limitedAt reads no more than left bytes until it is free.
type limitedAt struct {
	r    io.ReaderAt
	left int64
	free bool
}

func (l *limitedAt) ReadAt(p []byte, off int64) (int, error) {
	if l.free {
		return l.r.ReadAt(p, off)
	}
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return l.r.ReadAt(p, off)
}

// head peeks at the first bytes.
func (s *source) head() ([]byte, error) {
	b, err := s.r.Peek(SniffLen)
	if len(b) == 0 {
		if err == io.EOF {
			return nil, fail(s.name, "input is empty")
		}
		return nil, fail(s.name, "%w", cutShort(err))
	}
	return b, nil
}

// skipMark skips a byte order mark.
func (s *source) skipMark() {
	if head, err := s.r.Peek(len(byteOrderMark)); err == nil && string(head) == byteOrderMark {
		_, _ = s.r.Discard(len(byteOrderMark))
	}
}

// trustedRow is the size up to which a row's memory is allocated without proof.
const trustedRow = 1 << 20

// readGrowing reads n bytes into buf, which it reuses and returns. Memory grows as bytes
// arrive, so that a claimed length costs nothing.
func readGrowing(r io.Reader, buf []byte, n int64) ([]byte, error) {
	if n <= int64(cap(buf)) || n <= trustedRow {
		if int64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		_, err := io.ReadFull(r, buf)
		if err == io.EOF && n > 0 {
			err = io.ErrUnexpectedEOF
		}
		return buf, err
	}
	var b bytes.Buffer
	got, err := io.CopyN(&b, r, n)
	if err == io.EOF && got < n {
		err = io.ErrUnexpectedEOF
	}
	return b.Bytes(), err
}

// product multiplies sizes that a file claims; ok is false if the result overflows int64 or
// a factor is negative.
func product(factors ...int64) (int64, bool) {
	p := uint64(1)
	for _, f := range factors {
		if f < 0 {
			return 0, false
		}
		hi, lo := bits.Mul64(p, uint64(f))
		if hi != 0 || lo > 1<<62 {
			return 0, false
		}
		p = lo
	}
	return int64(p), true
}

// format returns the format of a source, by its name's extension and its first bytes. It fails if
// the two disagree or if the format needs random access to a stream.
func (s *source) format(ext Format) (Format, error) {
	head, err := s.head()
	if err != nil {
		return Unknown, err
	}
	return s.decide(ext, Sniff(head))
}

// decide is format for a source whose content is recognised.
func (s *source) decide(ext, content Format) (Format, error) {
	if err := s.checkEncoding(ext, content); err != nil {
		return Unknown, err
	}
	if head, _ := s.r.Peek(SniffLen); bytes.HasPrefix(head, []byte(hdf5Signature)) {
		return Unknown, fail(s.name, hdf5Refusal, s.name)
	}
	if ext == Unknown && content == Unknown && s.isCSV() {
		content = CSV
	}
	format, err := reconcile(s.name, ext, content)
	if err != nil {
		return Unknown, err
	}
	if err := s.checkLines(format); err != nil {
		return Unknown, err
	}
	return format, s.canSeek(format)
}

// hdf5Signature begins a file of HDF5, such as those of ann-benchmarks; hdf5Refusal says what to do with it.
const (
	hdf5Signature = "\x89HDF\r\n\x1a\n"
	hdf5Refusal   = `is HDF5, which is not read; write the arrays that it holds as npy: python3 -c "import h5py, numpy; f = h5py.File('%s'); [numpy.save(n + '.npy', f[n]) for n in f]"`
)

// isCSV reports whether the source, of which neither name nor signature says what it is, is a text of comma-separated
// values: its first two lines, or the only one, have fields, and as many.
func (s *source) isCSV() bool {
	start, _ := s.r.Peek(min(s.r.Size(), plaintext.Peeked)) // fewer if the input ends
	if !utf8.Valid(start[:max(0, len(start)-utf8.UTFMax)]) || bytes.IndexByte(start, 0) >= 0 {
		return false
	}
	first, rest, _ := bytes.Cut(start, []byte{'\n'})
	comma := []byte(string(separator(start)))
	fields := bytes.Count(first, comma)
	second, _, more := bytes.Cut(rest, []byte{'\n'})
	cut := !more && len(start) == plaintext.Peeked // the second line
	return fields > 0 && (len(rest) == 0 || cut || bytes.Count(second, comma) == fields)
}

// checkEncoding refuses a text that is no UTF-8, by its first bytes. Where the extension does not say that it is a
// text only a byte order mark does.
func (s *source) checkEncoding(ext, content Format) error {
	if !isWeak(content) {
		return nil
	}
	check := plaintext.CheckEncoding
	if ext == Unknown {
		check = plaintext.CheckMark
	} else if codecOf(ext).lines == nil {
		return nil
	}
	head, _ := s.r.Peek(SniffLen) // fewer if the input ends
	if err := check(head); err != nil {
		return fail(s.name, "%w", err)
	}
	return nil
}

// checkLines refuses a text whose lines end with a carriage return alone.
func (s *source) checkLines(format Format) error {
	c := codecOf(format)
	if c.lines == nil {
		return nil
	}
	shown := s.r.Buffered() // lines may come one by one, each after a while
	if c.peeked {
		shown = min(s.r.Size(), plaintext.Peeked)
	}
	start, _ := s.r.Peek(shown) // fewer if the input ends
	if err := c.lines(start); err != nil {
		return fail(s.name, "%w", err)
	}
	return nil
}

// canSeek rejects formats that need random access if there is only a stream.
func (s *source) canSeek(format Format) error {
	if s.at == nil && codecOf(format).seeks {
		return fail(s.name, "%s needs a plain file: it cannot be read from a stream or through gzip", format)
	}
	return nil
}
