package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	maxZstdWindow = 32 << 20
	maxZstdBlock  = 128 << 10
)

// zstdWithin walks the frames of b (RFC 8878) and refuses those that announce
// more than size bytes, or a window that no writer of columns uses: a decoder
// takes memory for both on the frame's word.
func zstdWithin(b []byte, size uint64) error {
	total, proven := uint64(0), true
	for len(b) > 0 {
		if len(b) < 8 {
			return io.ErrUnexpectedEOF
		}
		magic := binary.LittleEndian.Uint32(b)
		if magic&^15 == 0x184d2a50 { // skippable
			n := uint64(binary.LittleEndian.Uint32(b[4:]))
			if n > uint64(len(b)-8) {
				return io.ErrUnexpectedEOF
			}
			b = b[8+n:]
			continue
		}
		if magic != 0xfd2fb528 {
			return errors.New("not a zstd frame")
		}
		f, rest, err := zstdFrameHeader(b[4:])
		if err != nil {
			return err
		}
		if f.window > maxZstdWindow && f.window > size || f.known && f.content > size {
			return fmt.Errorf("zstd frame of %d bytes with a window of %d where %d bytes are announced", f.content, f.window, size)
		}
		bound, rest, err := zstdBlocks(rest, f.checksum)
		if err != nil {
			return err
		}
		if f.known {
			bound = f.content
		}
		total, proven, b = total+bound, proven && f.known, rest
	}
	// Without its content size a frame may hold any number of short blocks.
	if !proven {
		size = max(16<<20, 8*size)
	}
	if total > size {
		return fmt.Errorf("zstd frames of up to %d bytes where %d are announced", total, size)
	}
	return nil
}

type zstdFrame struct {
	window, content uint64
	known, checksum bool
}

// zstdFrameHeader reads what follows the magic.
func zstdFrameHeader(b []byte) (f zstdFrame, rest []byte, err error) {
	d := b[0]
	single := d&0x20 != 0
	f.checksum = d&4 != 0
	windowSize, dictSize := 1, []int{0, 1, 2, 4}[d&3]
	if single {
		windowSize = 0
	}
	contentSize := []int{0, 2, 4, 8}[d>>6]
	if d>>6 == 0 && single {
		contentSize = 1
	}
	end := 1 + windowSize + dictSize + contentSize
	if len(b) < end {
		return f, nil, io.ErrUnexpectedEOF
	}
	var wide [8]byte
	copy(wide[:], b[end-contentSize:end])
	f.content, f.known = binary.LittleEndian.Uint64(wide[:]), contentSize > 0
	if contentSize == 2 {
		f.content += 256
	}
	f.window = f.content
	if !single {
		base := uint64(1) << (10 + b[1]>>3)
		f.window = base + base/8*uint64(b[1]&7)
	}
	return f, b[end:], nil
}

// zstdBlocks skips the blocks of a frame and bounds what they decode to.
func zstdBlocks(b []byte, checksum bool) (bound uint64, rest []byte, err error) {
	for last := false; !last; {
		if len(b) < 3 {
			return 0, nil, io.ErrUnexpectedEOF
		}
		h := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
		last = h&1 != 0
		stored, size := int(h>>3), uint64(h>>3)
		switch h >> 1 & 3 {
		case 1:
			stored = 1
		case 2:
			size = maxZstdBlock
		case 3:
			return 0, nil, errors.New("zstd block of a reserved type")
		}
		b = b[3:]
		if len(b) < stored {
			return 0, nil, io.ErrUnexpectedEOF
		}
		b, bound = b[stored:], bound+size
	}
	if checksum {
		if len(b) < 4 {
			return 0, nil, io.ErrUnexpectedEOF
		}
		b = b[4:]
	}
	return bound, b, nil
}
