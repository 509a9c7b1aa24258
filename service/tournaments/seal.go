package tournaments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// Records, events and the rests of snapshots are JSON objects that end in a member of this
// name, a CRC-32C of everything before it. Those of early releases have none; such releases
// ignore it.
const sealName = `,"crc32c":"`

const sealBytes = len(sealName + `00000000"}`)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// sealed encodes v, an object with members, as JSON with its checksum.
func sealed(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	text = text[:len(text)-1]
	return fmt.Appendf(text, "%s%08x\"}", sealName, crc32.Checksum(text, castagnoli())), nil
}

// unseal decodes the output of sealed, or of an early release, into v.
func unseal(text []byte, v any) error {
	if at := len(text) - sealBytes; at > 0 && bytes.HasPrefix(text[at:], []byte(sealName)) {
		if want := fmt.Sprintf("%s%08x\"}", sealName, crc32.Checksum(text[:at], castagnoli())); string(text[at:]) != want {
			return errors.New("its checksum is wrong")
		}
	}
	return json.Unmarshal(text, v)
}
