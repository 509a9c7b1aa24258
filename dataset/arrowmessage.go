package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Encapsulated messages of Arrow IPC:
// https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format
// 0xFFFFFFFF, int32 length of the metadata (0 ends the stream), the metadata (a
// flatbuffer), the body. Before version 0.15 the first word was missing.

const (
	arrowMagic       = "ARROW1"
	arrowFileHead    = 8 // magic and padding
	maxArrowMetadata = 256 << 20
)

// arrowMessages passes messages to the Arrow library after checking them. It implements
// ipc.MessageReader.
type arrowMessages struct {
	r      io.Reader
	isFile bool
	ended  bool // finish succeeded
	msg    *ipc.Message
	budget *Budget
	// dictionaries is the memory of each dictionary, by id.
	dictionaries map[int64]int64
}

func newArrowMessages(src *source) (*arrowMessages, error) {
	head, err := src.r.Peek(arrowFileHead)
	if err != nil {
		return nil, fail(src.name, "not readable as Arrow IPC: %w", cutShort(err))
	}
	m := &arrowMessages{r: src.r, budget: src.budget, dictionaries: map[int64]int64{}}
	switch {
	case string(head[:4]) == "FEA1":
		return nil, fail(src.name, "Feather version 1 is not supported; write version 2, which is Arrow IPC")
	case string(head[:6]) == arrowMagic:
		m.isFile = true
		if _, err := src.r.Discard(arrowFileHead); err != nil {
			return nil, fail(src.name, "%w", err)
		}
	}
	return m, nil
}

// Retain and Release do nothing: one reader owns the messages, and the garbage collector frees them.
func (m *arrowMessages) Retain() {}

// Release drops the last message.
func (m *arrowMessages) Release() { m.msg = nil }

// Message returns the next message, valid until the following call, or io.EOF.
func (m *arrowMessages) Message() (*ipc.Message, error) {
	n, err := arrowMetadataLength(m.r)
	if err != nil {
		return nil, err
	}
	if n > m.budget.header() {
		return nil, m.budget.exceeds(m.budget.header(), "message metadata of %d bytes, at most %d", n, m.budget.header())
	}
	// The library keeps parts of the metadata, so each message has its own memory.
	meta, err := readGrowing(m.r, nil, n)
	if err != nil {
		return nil, fmt.Errorf("message metadata: %w", cutShort(err))
	}
	info, err := checkArrowMetadata(meta, m.budget)
	if err != nil {
		return nil, fmt.Errorf("message metadata: %w", err)
	}
	left := m.left(info)
	if info.body > left {
		return nil, m.budget.exceeds(m.budget.Block, "message body of %d bytes, with dictionaries more than the limit of %d", info.body, m.budget.Block)
	}
	body, err := readGrowing(m.r, nil, info.body)
	if err != nil {
		return nil, fmt.Errorf("message body: %w", cutShort(err))
	}
	decoded, err := info.checkBody(body, m.budget, left-info.body)
	if err != nil {
		return nil, fmt.Errorf("message body: %w", err)
	}
	if info.kind == arrowDictionary {
		m.hold(info, info.body+decoded)
	}
	m.msg = ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body))
	return m.msg, nil
}

// left returns how many bytes a message may take beside the dictionaries that are held.
func (m *arrowMessages) left(info *arrowInfo) int64 {
	left := m.budget.Block
	for id, held := range m.dictionaries {
		if info.kind != arrowDictionary || info.delta || id != info.id {
			left -= held
		}
	}
	return left
}

// hold counts a dictionary, which replaces the one before or adds to it.
func (m *arrowMessages) hold(info *arrowInfo, size int64) {
	if info.delta {
		size += m.dictionaries[info.id]
	}
	m.dictionaries[info.id] = size
}

// arrowMetadataLength reads up to the metadata and returns its length; io.EOF at the end of the stream.
func arrowMetadataLength(r io.Reader) (int64, error) {
	var word [4]byte
	if _, err := io.ReadFull(r, word[:]); err != nil {
		if err == io.EOF {
			return 0, io.EOF
		}
		return 0, fmt.Errorf("message length: %w", cutShort(err))
	}
	n := binary.LittleEndian.Uint32(word[:])
	if n == 0xffffffff {
		if _, err := io.ReadFull(r, word[:]); err != nil {
			return 0, fmt.Errorf("message length: %w", cutShort(err))
		}
		n = binary.LittleEndian.Uint32(word[:])
	}
	if n == 0 {
		return 0, io.EOF
	}
	if n < 4 || n > maxArrowMetadata {
		return 0, fmt.Errorf("message metadata of %d bytes (limit %d)", n, maxArrowMetadata)
	}
	return int64(n), nil
}

// finish checks what follows the end of the stream: nothing or, in a file, the footer; a
// file without it was truncated.
func (m *arrowMessages) finish() error {
	if m.ended {
		return nil
	}
	var tail []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := m.r.Read(buf)
		tail = append(tail, buf[:n]...)
		tail = tail[max(0, len(tail)-len(arrowMagic)):]
		if err == io.EOF {
			break
		}
		if err != nil {
			return cutShort(err)
		}
	}
	switch {
	case m.isFile && !bytes.Equal(tail, []byte(arrowMagic)):
		return fmt.Errorf("the file does not end with %s: %w", arrowMagic, cutShort(io.EOF))
	case !m.isFile && len(tail) > 0:
		return errors.New("data goes on after the end of the Arrow stream")
	}
	m.ended = true
	return nil
}

// countArrowRows adds the lengths that record batches claim, skipping their bodies. It
// returns -1 if that fails; reading will then report the error.
func countArrowRows(src *source, isFile bool) int64 {
	at, rows := int64(0), int64(0)
	if isFile {
		at = arrowFileHead
	}
	for {
		s := io.NewSectionReader(src.at, at, src.size-at)
		n, err := arrowMetadataLength(s)
		if err == io.EOF {
			return rows
		}
		if err != nil || n > src.size-at || n > src.budget.header() {
			return -1
		}
		meta, err := readGrowing(s, nil, n)
		if err != nil {
			return -1
		}
		info, err := checkArrowMetadata(meta, src.budget)
		if err != nil {
			return -1
		}
		here, _ := s.Seek(0, io.SeekCurrent)
		if at += here; info.body > src.size-at || info.rows > maxRows-rows {
			return -1
		}
		at += info.body
		rows += info.rows
	}
}

// maxRows keeps sums of claimed row counts from overflowing.
const maxRows = 1 << 60
