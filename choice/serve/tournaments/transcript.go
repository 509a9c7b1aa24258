package tournaments

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"thresher/internal/atomicfile"
	"thresher/store"
)

// A transcript is a file of all calls of a tournament, as clients saw them, so that what was judged can
// be read also after snapshots have taken the place of the calls' records. It grows by blocks: a line
// of transcriptWord, the number of the first call in it, how many there are, the bytes that follow and
// their CRC-32C, and the CRC-32C of the line up to there; then the calls as compressed lines of JSON.
//
// A call may be in the file before its record is durable, and its record may get lost in a crash, or be
// newer than a backup: so calls after the last recorded one do not count, and settle removes them.
type transcript struct {
	s     *Store
	id    string
	path  string
	most  int    // bytes of lines before they are written
	have  uint64 // the last call in the file or in lines
	first uint64 // the number of the first call in lines
	count uint64
	lines bytes.Buffer
}

const (
	transcriptWord   = "thresher calls"
	transcriptSuffix = ".calls"
	// goneSuffix is added to the name while the tournament is being deleted.
	goneSuffix = ".gone"
)

// transcripts guards the files against calls that still go on when their tournament is deleted.
type transcripts struct {
	sync.RWMutex
	deleted map[string]bool // ids, which are never used again
}

// transcriptPath returns the path of a tournament's transcript.
func (s *Store) transcriptPath(id string) string { return filepath.Join(s.o.Dir, id+transcriptSuffix) }

// sweepTranscripts ends deletions that were interrupted: known says which tournaments there are. Files
// of tournaments that nobody knows stay, because what was judged in them can still be exported.
func (s *Store) sweepTranscripts(known func(id string) bool) error {
	if s.o.Dir == "" {
		return nil
	}
	entries, err := os.ReadDir(s.o.Dir)
	for _, e := range entries {
		name, gone := strings.CutSuffix(e.Name(), goneSuffix)
		id, ours := strings.CutSuffix(name, transcriptSuffix)
		switch path := filepath.Join(s.o.Dir, name); {
		case !ours || !e.Type().IsRegular():
		case !gone && !known(id):
			s.o.Log.Warn("the database does not know the tournament of a transcript; its judgments can be exported", "tournament", id)
		case gone && known(id):
			err = errors.Join(err, os.Rename(path+goneSuffix, path))
		case gone:
			err = errors.Join(err, os.Remove(path+goneSuffix))
		}
	}
	return err
}

// markTranscript renames the transcript of a tournament that is being deleted, so that it is removed if
// the process is killed; unmarkTranscript undoes that. Either may have been done, or be in vain.
func (s *Store) markTranscript(id string) error {
	return s.renameTranscript(s.transcriptPath(id), s.transcriptPath(id)+goneSuffix)
}

func (s *Store) unmarkTranscript(id string) error {
	return s.renameTranscript(s.transcriptPath(id)+goneSuffix, s.transcriptPath(id))
}

func (s *Store) renameTranscript(from, to string) error {
	if s.o.Dir == "" {
		return nil
	}
	s.transcripts.Lock()
	defer s.transcripts.Unlock()
	if err := os.Rename(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeTranscript removes the transcript of a tournament that was deleted.
func (s *Store) removeTranscript(id string) error {
	if s.o.Dir == "" {
		return nil
	}
	s.transcripts.Lock()
	defer s.transcripts.Unlock()
	s.transcripts.deleted[id] = true
	var err error
	for _, path := range []string{s.transcriptPath(id), s.transcriptPath(id) + goneSuffix} {
		if e := os.Remove(path); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// transcriptOf returns the transcript of a tournament, nil if the Store keeps none.
func (s *Store) transcriptOf(id string) *transcript {
	if s.o.Dir == "" {
		return nil
	}
	return &transcript{s: s, id: id, path: s.transcriptPath(id), most: s.o.blockBytes}
}

// settle removes from the file what a crash may have left of calls after the last one that is recorded,
// and incomplete blocks of calls after the snapshot, which are told again by the records.
// removed counts the calls in whole blocks of the former.
func (t *transcript) settle(snapshot, last uint64) (removed uint64, err error) {
	if t == nil {
		return 0, nil
	}
	f, err := os.OpenFile(t.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	end := int64(0)
	for _, b := range callBlocks(f, info.Size()) {
		after := b.first + b.count - 1
		if after > last {
			removed = max(removed, after-last)
			continue
		}
		if removed > 0 || b.at+b.bytes > info.Size() {
			break
		}
		if after > snapshot {
			if _, err := b.calls(f); err != nil {
				break
			}
		}
		end, t.have = b.at+b.bytes, after
	}
	if end == info.Size() {
		return 0, nil
	}
	return removed, store.Full(errors.Join(f.Truncate(end), f.Sync()))
}

// add tells call n, unless it is there already.
func (t *transcript) add(n uint64, what told) error {
	if t == nil || n <= t.have {
		return nil
	}
	if t.count > 0 && n != t.first+t.count { // a block has consecutive calls
		if err := t.write(false); err != nil {
			return err
		}
	}
	t.have = n
	if t.count == 0 {
		t.first = n
	}
	what.Call = n
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	t.lines.Write(append(text, '\n'))
	t.count++
	if t.lines.Len() < t.most {
		return nil
	}
	return t.write(false)
}

// flush makes all calls durable.
func (t *transcript) flush() error {
	if t == nil {
		return nil
	}
	return t.write(true)
}

// write appends a block of the calls that are not in the file yet.
func (t *transcript) write(sync bool) (err error) {
	t.s.transcripts.RLock()
	defer t.s.transcripts.RUnlock()
	if t.s.transcripts.deleted[t.id] {
		return nil
	}
	_, missing := os.Lstat(t.path)
	if t.count == 0 && missing != nil {
		return nil
	}
	f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return store.Full(err)
	}
	defer func() { err = store.Full(errors.Join(err, f.Close())) }()
	if errors.Is(missing, fs.ErrNotExist) {
		if err := atomicfile.FlushFolder(filepath.Dir(t.path)); err != nil {
			return err
		}
	}
	if t.count > 0 {
		block, err := t.block()
		if err != nil {
			return err
		}
		if _, err := f.Write(block); err != nil {
			return err
		}
		t.first, t.count = 0, 0
		t.lines.Reset()
	}
	if !sync {
		return nil
	}
	return f.Sync()
}

// block encodes the calls that are not in the file yet.
func (t *transcript) block() ([]byte, error) {
	var data bytes.Buffer
	w, err := flate.NewWriter(&data, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(t.lines.Bytes()); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	head := fmt.Sprintf("%s %d %d %d %08x", transcriptWord, t.first, t.count, data.Len(), store.Checksum(data.Bytes()))
	return append(fmt.Appendf(nil, "%s %08x\n", head, store.Checksum([]byte(head))), data.Bytes()...), nil
}

// callBlock is a block in the file.
type callBlock struct {
	first, count uint64
	at           int64 // of its data
	bytes        int64
	sum          uint32
}

// maxHead bounds the length of a block's first line.
const maxHead = 128

// blocks lists the blocks of a file of that size whose first lines can be read, in their order. What
// lies between them is damaged.
func callBlocks(r io.ReaderAt, size int64) (all []callBlock) {
	for at := int64(0); at < size; {
		b, ok := readCallBlock(r, at)
		if ok {
			all = append(all, b)
			at = b.at + b.bytes
			continue
		}
		at = nextCallBlock(r, at+1, size)
	}
	return all
}

// readCallBlock reads the first line of the block at a position.
func readCallBlock(r io.ReaderAt, at int64) (b callBlock, ok bool) {
	var head [maxHead]byte
	n, err := r.ReadAt(head[:], at)
	if err != nil && err != io.EOF {
		return b, false
	}
	line, _, found := bytes.Cut(head[:n], []byte{'\n'})
	if !found || len(line) < 9 {
		return b, false
	}
	var sum uint32
	if _, err := fmt.Sscanf(string(line), transcriptWord+" %d %d %d %x %x", &b.first, &b.count, &b.bytes, &b.sum, &sum); err != nil ||
		sum != store.Checksum(line[:len(line)-9]) {
		return b, false
	}
	b.at = at + int64(len(line)) + 1
	return b, true
}

// nextCallBlock returns where the next block may begin from a position on, the file's size if nowhere.
// What cannot be read is skipped.
func nextCallBlock(r io.ReaderAt, at, size int64) int64 {
	const sector = 4096
	buf := make([]byte, sector+len(transcriptWord))
	for at < size {
		n, err := r.ReadAt(buf, at)
		if i := bytes.Index(buf[:n], []byte(transcriptWord)); i >= 0 {
			return at + int64(i)
		}
		if err != nil && err != io.EOF || n < len(buf) {
			at = (at/sector + 1) * sector
			continue
		}
		at += sector
	}
	return size
}

// calls reads a block.
func (b *callBlock) calls(r io.ReaderAt) ([]told, error) {
	data := make([]byte, b.bytes)
	if _, err := r.ReadAt(data, b.at); err != nil {
		return nil, err
	}
	if store.Checksum(data) != b.sum {
		return nil, errors.New("its checksum is wrong")
	}
	lines := json.NewDecoder(flate.NewReader(bytes.NewReader(data)))
	all := make([]told, 0, b.count)
	for i := range b.count {
		var t told
		if err := lines.Decode(&t); err != nil {
			return nil, err
		}
		if t.Call != b.first+i {
			return nil, fmt.Errorf("call %d in the place of %d", t.Call, b.first+i)
		}
		all = append(all, t)
	}
	return all, nil
}
