package fetch

import (
	"crypto/md5"  //nolint:gosec // compares what arrived with what the store states
	"crypto/sha1" //nolint:gosec // as well
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"net/http"
	"slices"
	"strings"
)

// sums are checksums of all bytes of a file, in base64, by the names of their functions.
type sums map[string]string

// functions are the checksums that stores state, the fastest first.
var functions = []struct {
	name string
	new  func() hash.Hash
}{
	{"crc32c", func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }},
	{"crc64nvme", func() hash.Hash { return crc64.New(crc64.MakeTable(0x9a6c9329ac4bc9b5)) }},
	{"crc32", func() hash.Hash { return crc32.NewIEEE() }},
	{"sha256", sha256.New},
	{"sha1", sha1.New},
	{"md5", md5.New},
}

// add notes a checksum that is stated. One of S3 that ends in the number of parts is a checksum of the checksums of the
// parts, whose bounds only the writer knows: it is left out.
func (s sums) add(function, text string) {
	if text != "" && !strings.Contains(text, "-") {
		s[function] = text
	}
}

// ofHeader adds what the header of an answer states: x-goog-hash of Google's stores, and Content-MD5.
func (s sums) ofHeader(h http.Header) {
	for _, line := range h.Values("X-Goog-Hash") {
		for item := range strings.SplitSeq(line, ",") {
			if name, text, ok := strings.Cut(strings.TrimSpace(item), "="); ok {
				s.add(name, text)
			}
		}
	}
	for _, f := range functions {
		s.add(f.name, h.Get("X-Amz-Checksum-"+f.name))
	}
}

// checking returns what computes the fastest of the checksums; nil if none of them is known.
func (s sums) checking() *checking {
	for _, f := range functions {
		if text, ok := s[f.name]; ok {
			return &checking{name: f.name, want: text, Hash: f.new()}
		}
	}
	return nil
}

// checking computes a checksum of what arrives.
type checking struct {
	hash.Hash
	name, want string
}

// check compares what arrived with what the store states.
func (c *checking) check() error {
	sum := c.Sum(nil)
	want, err := base64.StdEncoding.DecodeString(c.want)
	if err == nil && slices.Equal(sum, want) {
		return nil
	}
	return fmt.Errorf("what arrived is not what the store has: its %s is %s, and %s is stated", c.name, base64.StdEncoding.EncodeToString(sum), c.want)
}
