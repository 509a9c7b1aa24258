package worker

import (
	"encoding/json"
	"errors"
	"os"
)

// maxInBody is how many bytes of arrays travel in a frame where descriptors can travel too: those of 256 answers
// of 10 atoms.
const maxInBody = 96 << 10

// reply is the memory of the arrays that an operation answers with.
type reply struct {
	columns []descriptor
	parts   [][]byte
	mem     []byte
	file    *os.File // nil if mem travels in the frame
	unmap   func() error
}

// column is an array of a reply before it has a place.
type column struct {
	name  string
	dtype dtype
	shape []int64
}

// newReply makes room for arrays, zeroed: in a file that travels with the frame if they are large,
// descriptors can travel and there can be such a file, which a sandbox may refuse and a process may
// have no descriptor for. The caller closes it.
func newReply(passes bool, columns ...column) (*reply, error) {
	s := &reply{}
	total := int64(0)
	for _, c := range columns {
		d := descriptor{Name: c.name, DType: c.dtype, Shape: c.shape, At: inBody, Offset: total}
		n, err := d.bytes()
		if err != nil {
			return nil, err
		}
		total += (n + 63) &^ 63
		s.columns = append(s.columns, d)
	}
	if total > maxBodyBytes {
		return nil, &failure{Kind: noMemory, Message: "an answer of more than 2^40 bytes"}
	}
	if !passes || total <= maxInBody || s.takeShared(total) != nil {
		s.mem = alignedBytes(total)
	}
	for _, d := range s.columns {
		n, _ := d.bytes() // checked above
		s.parts = append(s.parts, s.mem[d.Offset:d.Offset+n])
	}
	return s, nil
}

// takeShared maps a file of n bytes; on an error nothing has changed.
func (s *reply) takeShared(n int64) error {
	file, err := newShared(n)
	if err != nil {
		return err
	}
	mem, unmap, err := mapMemory(file, 0, n, true)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	s.file, s.mem, s.unmap = file, mem, unmap
	first := 0
	for i := range s.columns {
		s.columns[i].At, s.columns[i].Descriptor = inFile, &first
	}
	return nil
}

// part returns the bytes of column i, to be filled.
func (s *reply) part(i int) []byte { return s.parts[i] }

// close frees the memory; the client's copy or mapping of it stays.
func (s *reply) close() {
	if s.file == nil {
		return
	}
	if s.unmap != nil {
		s.unmap() // fails only for what is not mapped
	}
	s.file.Close()
	s.mem, s.parts, s.file = nil, nil, nil
}

// replyOf returns a reply with arrays that are known already.
func replyOf(passes bool, columns []column, contents ...[]byte) (*reply, error) {
	s, err := newReply(passes, columns...)
	if err != nil {
		return nil, err
	}
	for i, b := range contents {
		copy(s.part(i), b)
	}
	return s, nil
}

// answer is the header of a frame to the client.
type answer struct {
	ID       int64        `json:"id"`
	Reply    any          `json:"reply,omitempty"`
	Arrays   []descriptor `json:"arrays,omitempty"`
	Error    *failure     `json:"error,omitempty"`
	Progress *progress    `json:"progress,omitempty"`
}

// progress says how far a call has come.
type progress struct {
	Step  string `json:"step"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
}

// header returns the header of the frame: a compact one of a reply to a compact search.
func (a *answer) header() ([]byte, error) {
	if x, ok := a.Reply.(compactReply); ok {
		return x.append(nil, a.ID)
	}
	return json.Marshal(a)
}

// send sends a frame to the client.
func (s *Child) send(a *answer, arrays *reply) error {
	var body []byte
	var files []*os.File
	if arrays != nil {
		a.Arrays = arrays.columns
		if arrays.file == nil {
			body = arrays.mem
		} else {
			if err := arrays.unmap(); err != nil {
				return err
			}
			arrays.unmap = nil
			if err := seal(arrays.file); err != nil {
				return err
			}
			files = []*os.File{arrays.file}
		}
	}
	header, err := a.header()
	if err != nil {
		return err
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	return sendFrame(s.link, header, body, files)
}
