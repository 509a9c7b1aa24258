package folder

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Key is an idempotency key: who repeats the request of a change under it is to get the answer of the first. It is in the log
// with its change, so that either is durable or neither.
type Key struct {
	Name, Fingerprint string    // the key itself, and by what its request is known again
	At                time.Time // when the request was made
	// Answer is what FindKey finds. Answering, if not nil, makes it, once it is certain what the change does and before it is in the log, of that and of
	// how many vectors there will be; it must not call the folder but for Snapshot.
	Answer    []byte
	Answering func(will Written, vectors int) ([]byte, error)
}

// maxKeyBytes is the most that a key takes in a log.
const maxKeyBytes = 1 << 20

// bytes is about what a key takes in the log.
func (k *Key) bytes() int64 { return 24 + int64(len(k.Name)+len(k.Fingerprint)+len(k.Answer)) }

// answer makes the answer of a key.
func (k *Key) answer(will Written, vectors int) (err error) {
	if k.Answering != nil {
		if k.Answer, err = k.Answering(will, vectors); err != nil {
			return err
		}
	}
	return k.check()
}

func (k *Key) check() error {
	if k.Name == "" || k.bytes() > maxKeyBytes {
		return fmt.Errorf("an idempotency key of %d characters, with an answer of %d bytes: the first is 1 at least, and all are %d at most", len(k.Name), len(k.Answer), maxKeyBytes)
	}
	return nil
}

// versionedKey is a key with the version that its change made.
type versionedKey struct {
	*Key
	version uint64
}

// remember takes in the key of a change, nil for none, that made a version.
func (f *Folder) remember(k *Key, version uint64) {
	if k == nil {
		return
	}
	f.keying.Lock()
	defer f.keying.Unlock()
	if f.keys == nil {
		f.keys = map[string]versionedKey{}
	}
	f.keys[k.Name] = versionedKey{k, version}
}

// FindKey returns the key of this name of the newest change that had it, unless it was handed over to Options.KeepKeys since; nil if there is none.
// It must not be changed.
func (f *Folder) FindKey(name string) *Key {
	f.keying.Lock()
	defer f.keying.Unlock()
	return f.keys[name].Key
}

// Keys returns all keys that were not handed over to Options.KeepKeys. They must not be changed.
func (f *Folder) Keys() []*Key { return f.keysUntil(math.MaxUint64) }

// keysUntil returns the keys of changes that made a version until last.
func (f *Folder) keysUntil(last uint64) (keys []*Key) {
	f.keying.Lock()
	defer f.keying.Unlock()
	for _, k := range f.keys {
		if k.version <= last {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// thinKeys hands over all keys if there are many, although their logs stay.
func (f *Folder) thinKeys() error {
	const many = 4096
	f.keying.Lock()
	n := len(f.keys)
	f.keying.Unlock()
	if n < many || f.o.KeepKeys == nil {
		return nil
	}
	return f.handOver(math.MaxUint64)
}

// handOver gives keys of changes that made a version until last to Options.KeepKeys, and forgets them.
func (f *Folder) handOver(last uint64) error {
	keys := f.keysUntil(last)
	if len(keys) == 0 {
		return nil
	}
	if f.o.KeepKeys != nil {
		if err := f.o.KeepKeys(keys); err != nil {
			return fmt.Errorf("keeping the idempotency keys of %s: %w", f.path, err)
		}
	}
	f.keying.Lock()
	defer f.keying.Unlock()
	for _, k := range keys {
		if f.keys[k.Name].Key == k {
			delete(f.keys, k.Name)
		}
	}
	return nil
}

// appendKey appends a key to a write.
func appendKey(b []byte, k *Key) []byte {
	for _, text := range []int{len(k.Name), len(k.Fingerprint), len(k.Answer), 0} {
		b = binary.LittleEndian.AppendUint32(b, uint32(text))
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(k.At.UnixNano()))
	b = append(append(append(b, k.Name...), k.Fingerprint...), k.Answer...)
	return padded(b)
}

// decodeKey returns the key that appendKey has appended at b[at:], and where it ends.
func decodeKey(b []byte, at int) (k *Key, next int, err error) {
	const head = 4*4 + 8
	if at > len(b) || len(b)-at < head {
		return nil, at, errShort
	}
	b = b[at:]
	name, print, answer := int64(binary.LittleEndian.Uint32(b)), int64(binary.LittleEndian.Uint32(b[4:])), int64(binary.LittleEndian.Uint32(b[8:]))
	end := head + name + print + answer
	if end > int64(len(b)) {
		return nil, at, errShort
	}
	text := string(b[head:end])
	k = &Key{Name: text[:name], Fingerprint: text[name : name+print], At: time.Unix(0, int64(binary.LittleEndian.Uint64(b[16:]))), Answer: []byte(text[name+print:])}
	return k, at + int(end+7)&^7, k.check()
}
