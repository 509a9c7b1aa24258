package store

import (
	"bytes"
	"errors"

	"go.etcd.io/bbolt"
)

// Keys of several parts join them with a zero byte, which no part but the last contains.
// CutKey returns the first part.
func CutKey(key []byte) (first, rest []byte, found bool) { return bytes.Cut(key, []byte{0}) }

// JoinKey returns the key of two parts.
func JoinKey(first, rest string) []byte { return []byte(first + "\x00" + rest) }

// Plain reports whether a part of a key is one: not empty, and without a zero byte.
func Plain(part []byte) bool { return len(part) > 0 && bytes.IndexByte(part, 0) < 0 }

// IsNumber reports whether a key or value is the Key of a number from 1 on.
func IsNumber(key []byte) bool { return len(key) == 8 && Number(key) > 0 }

// KeysWith returns copies of the keys of a bucket that begin with prefix, in order. It
// fails if b is nil.
func KeysWith(b *bbolt.Bucket, prefix []byte) (keys [][]byte, err error) {
	if b == nil {
		return nil, errors.New("bucket is missing")
	}
	c := b.Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	return keys, nil
}

// FirstParts returns the distinct first parts of the keys of a bucket that begin with prefix,
// in order.
func FirstParts(b *bbolt.Bucket, prefix string) (parts []string, err error) {
	keys, err := KeysWith(b, []byte(prefix))
	for _, key := range keys {
		first, _, _ := CutKey(key)
		if n := len(parts); n == 0 || parts[n-1] != string(first) {
			parts = append(parts, string(first))
		}
	}
	return parts, err
}
