package worker

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"unsafe"
)

// Protocol is the version of the protocol.
const Protocol = 4

// Limits of a frame.
const (
	frameMagic     = "TW"
	prefixBytes    = 16
	maxDescriptors = 8
	maxHeaderBytes = 8 << 20
	maxBodyBytes   = 1 << 40
)

// readAhead is how many bytes of a body are allocated before any has arrived.
const readAhead = 1 << 20

// frame is one message of the client. Whoever has it closes it.
type frame struct {
	header []byte
	body   []byte // begins at a multiple of 8 bytes
	files  []*os.File
}

func (f *frame) close() {
	for _, file := range f.files {
		file.Close()
	}
	f.files = nil
}

// readFrame reads the next frame; io.EOF before its first byte. Any other error leaves the
// connection unusable.
func readFrame(l link) (*frame, error) {
	var p [prefixBytes]byte
	if _, err := io.ReadFull(l, p[:1]); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(l, p[1:]); err != nil {
		return nil, cutShort(err)
	}
	if string(p[:2]) != frameMagic {
		return nil, violation("a frame begins with %q, not %q", p[:2], frameMagic)
	}
	if p[2] != Protocol {
		return nil, violation("version %d of the protocol; this worker speaks %d", p[2], Protocol)
	}
	descriptors, header, body := int(p[3]), binary.LittleEndian.Uint32(p[4:]), binary.LittleEndian.Uint64(p[8:])
	switch {
	case descriptors > maxDescriptors:
		return nil, violation("%d descriptors, at most %d", descriptors, maxDescriptors)
	case header > maxHeaderBytes:
		return nil, violation("a header of %d bytes, at most %d", header, maxHeaderBytes)
	case body > maxBodyBytes:
		return nil, violation("a body of %d bytes, at most %d", body, int64(maxBodyBytes))
	}
	f := &frame{}
	var err error
	if f.files, err = l.take(descriptors); err != nil {
		return nil, err
	}
	if f.header, err = readGrowing(l, int64(header)); err == nil {
		f.body, err = readGrowing(l, int64(body))
	}
	if err != nil {
		f.close()
		return nil, cutShort(err)
	}
	return f, nil
}

// readGrowing reads n bytes, and allocates no more than twice what has arrived and readAhead.
func readGrowing(r io.Reader, n int64) ([]byte, error) {
	b := alignedBytes(min(n, readAhead))
	have := int64(0)
	for {
		got, err := io.ReadFull(r, b[have:])
		have += int64(got)
		if err != nil || have == n {
			return b[:have], err
		}
		more := alignedBytes(min(n, 2*have))
		copy(more, b[:have])
		b = more
	}
}

// alignedBytes returns n bytes at a multiple of 8.
func alignedBytes(n int64) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// cutShort turns an end in the middle of a frame into an error.
func cutShort(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// sendFrame sends a frame. The caller closes the files.
func sendFrame(l link, header, body []byte, files []*os.File) error {
	if len(header) > maxHeaderBytes {
		return fmt.Errorf("a header of %d bytes, at most %d", len(header), maxHeaderBytes)
	}
	b := make([]byte, prefixBytes, prefixBytes+len(header)+len(body))
	copy(b, frameMagic)
	b[2], b[3] = Protocol, byte(len(files))
	binary.LittleEndian.PutUint32(b[4:], uint32(len(header)))
	binary.LittleEndian.PutUint64(b[8:], uint64(len(body)))
	b = append(append(b, header...), body...)
	return l.send(b, files)
}
