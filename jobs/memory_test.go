package jobs

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
)

// memory is a storage that can lose power: of what was not flushed a random part remains.
type memory struct {
	files    map[string]*memoryFile
	journals map[string]*memoryJournal
}

func newMemory() *memory {
	return &memory{files: map[string]*memoryFile{}, journals: map[string]*memoryJournal{}}
}

type memoryFile struct{ data, flushed []byte }

type memoryJournal struct {
	state  state
	locked bool
}

// cutPower leaves of every file a random mixture of its flushed and later bytes.
func (m *memory) cutPower(r *rand.Rand) {
	for _, path := range slices.Sorted(maps.Keys(m.files)) {
		f := m.files[path]
		short, long := f.data, f.flushed
		if len(short) > len(long) {
			short, long = long, short
		}
		mixed := make([]byte, len(short)+r.IntN(len(long)-len(short)+1))
		for i := range mixed {
			switch {
			case i < len(short) && r.IntN(2) == 0:
				mixed[i] = short[i]
			case i < len(short) || r.IntN(2) == 0:
				mixed[i] = long[i]
			}
		}
		f.data, f.flushed = mixed, slices.Clone(mixed)
	}
	for _, j := range m.journals {
		j.locked = false
	}
}

func (m *memory) read(path string) []byte { return m.files[path].data }

func (m *memory) exists(path string) (bool, error) {
	return m.files[path] != nil || m.journals[path] != nil, nil
}

func (m *memory) output(path string, flag int) (file, error) {
	f := m.files[path]
	if f != nil && flag&os.O_EXCL != 0 {
		return nil, os.ErrExist
	}
	if f == nil && flag&os.O_CREATE == 0 {
		return nil, os.ErrNotExist
	}
	if f == nil {
		f = &memoryFile{}
		m.files[path] = f
	}
	return f, nil
}

func (m *memory) create(path string, s state, replace bool) error {
	if j := m.journals[path]; j != nil && !replace {
		return os.ErrExist
	}
	m.journals[path] = &memoryJournal{state: s}
	return nil
}

func (m *memory) open(path string) (journal, state, error) {
	j := m.journals[path]
	if j == nil {
		return nil, state{}, os.ErrNotExist
	}
	if j.locked {
		return nil, state{}, ErrLocked
	}
	j.locked = true
	return j, j.state, nil
}

func (m *memory) remove(path string) error {
	delete(m.files, path)
	delete(m.journals, path)
	return nil
}

func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	if grow := int(off) + len(p) - len(f.data); grow > 0 {
		f.data = append(f.data, make([]byte, grow)...)
	}
	return copy(f.data[off:], p), nil
}

func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.data).ReadAt(p, off)
}

func (f *memoryFile) Truncate(size int64) error {
	f.data = f.data[:size:size]
	return nil
}

func (f *memoryFile) Sync() error {
	f.flushed = slices.Clone(f.data)
	return nil
}

func (f *memoryFile) Close() error { return nil }

func (f *memoryFile) size() (int64, error) { return int64(len(f.data)), nil }

func (j *memoryJournal) save(s state) error {
	j.state = s
	return nil
}

func (j *memoryJournal) close() error {
	j.locked = false
	return nil
}
