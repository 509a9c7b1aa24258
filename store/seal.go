package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// sealName begins the last member of every JSON object that is stored in a database. Its value
// is the CRC-32C of all bytes before the member. Objects of early releases have no such member,
// and those releases ignore it.
const sealName = `,"crc32c":"`

const sealBytes = len(sealName + `00000000"}`)

// Checksum returns the CRC-32C of data.
func Checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// Seal encodes v as JSON with its checksum. v must encode as an object with at least one member.
func Seal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	text = text[:len(text)-1]
	return fmt.Appendf(text, "%s%08x\"}", sealName, Checksum(text)), nil
}

// Unseal decodes the output of Seal into v, after verifying the checksum. Without a checksum, as
// early releases wrote it, it only decodes.
func Unseal(text []byte, v any) error {
	if at := len(text) - sealBytes; at > 0 && bytes.HasPrefix(text[at:], []byte(sealName)) {
		if want := fmt.Sprintf("%s%08x\"}", sealName, Checksum(text[:at])); string(text[at:]) != want {
			return errors.New("its checksum is wrong")
		}
	}
	return json.Unmarshal(text, v)
}
