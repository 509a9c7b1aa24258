package jobs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
)

// A progress file has two slots with a record each. A new record overwrites the older one and
// is flushed before anything else is written, so the slot that is not being written is intact
// whenever a run ends. Slots use alternate blocks, 0, 2, 4, .. and 1, 3, 5, .., so that they
// can grow and share no disk sector.
//
// A record is a header and a payload. The header is slotMagic, the record's sequence number (8
// bytes), whose parity selects the slot, the payload's length (4), and the CRC-32C of all
// these and the payload (4), little-endian.
const (
	slotMagic  = "job\x00slot"
	slotHeader = 24   // bytes
	slotBlock  = 4096 // bytes
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writeSlot writes the record of a sequence number. It is durable once w is flushed.
func writeSlot(w io.WriterAt, sequence uint64, payload []byte) error {
	p := make([]byte, slotHeader, slotHeader+len(payload))
	copy(p, slotMagic)
	binary.LittleEndian.PutUint64(p[8:], sequence)
	binary.LittleEndian.PutUint32(p[16:], uint32(len(payload)))
	p = append(p, payload...)
	binary.LittleEndian.PutUint32(p[20:], checksum(p))
	for block := int64(sequence % 2); len(p) > 0; block += 2 {
		n := min(len(p), slotBlock)
		if _, err := w.WriteAt(p[:n], block*slotBlock); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func checksum(record []byte) uint32 {
	return crc32.Update(crc32.Checksum(record[:20], castagnoli), castagnoli, record[slotHeader:])
}

// newestRecord returns the later of the intact records in a file of size bytes.
func newestRecord(r io.ReaderAt, size int64) (sequence uint64, payload []byte, err error) {
	var errs [2]error
	for slot := range uint64(2) {
		n, p, err := readSlot(r, size, slot)
		var failed *fs.PathError // an error of the system says nothing about the content
		switch {
		case errors.As(err, &failed):
			return 0, nil, err
		case err != nil:
			errs[slot] = err
		case payload == nil || n > sequence:
			sequence, payload = n, p
		}
	}
	if payload == nil {
		return 0, nil, fmt.Errorf("%w: first record: %w; second record: %w", errNoRecord, errs[0], errs[1])
	}
	return sequence, payload, nil
}

var errNoRecord = errors.New("not a progress file")

// readSlot returns the record of a slot. It allocates at most size and a header.
func readSlot(r io.ReaderAt, size int64, slot uint64) (sequence uint64, payload []byte, err error) {
	p := make([]byte, slotHeader)
	if err := readFull(r, p, int64(slot)*slotBlock); err != nil {
		return 0, nil, err
	}
	sequence = binary.LittleEndian.Uint64(p[8:])
	length := binary.LittleEndian.Uint32(p[16:])
	if string(p[:8]) != slotMagic || sequence%2 != slot {
		return 0, nil, errors.New("no header")
	}
	if int64(length) > size {
		return 0, nil, fmt.Errorf("%d bytes in a file of %d", length, size)
	}
	p = make([]byte, slotHeader+int(length))
	block := int64(slot)
	for rest := p; len(rest) > 0; block += 2 {
		n := min(len(rest), slotBlock)
		if err := readFull(r, rest[:n], block*slotBlock); err != nil {
			return 0, nil, err
		}
		rest = rest[n:]
	}
	if want, got := binary.LittleEndian.Uint32(p[20:]), checksum(p); want != got {
		return 0, nil, fmt.Errorf("checksum %08x, want %08x", got, want)
	}
	return sequence, p[slotHeader:], nil
}

func readFull(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		return errors.New("the file ends before it does")
	}
	return err
}
