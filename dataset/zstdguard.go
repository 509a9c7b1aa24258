package dataset

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxZstdWindow is the largest window, in bytes, of a frame that holds less.
const maxZstdWindow = 32 << 20

// unzstd decompresses frames of zstd into dst and fails if they exceed it.
func unzstd(dst, frames []byte) ([]byte, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxWindow(uint64(max(maxZstdWindow, len(dst)))))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	plain, err := d.DecodeAll(frames, dst[:0:len(dst)])
	if err != nil {
		return nil, fmt.Errorf("zstd frames where %d bytes are announced: %w", len(dst), err)
	}
	return plain, nil
}

// checkZstdWindows refuses frames of zstd with windows larger than size bytes and
// maxZstdWindow. The Arrow library stops after the announced bytes, but allocates the
// windows that frames claim, and its decoders cannot be limited.
func checkZstdWindows(b []byte, size uint64) error {
	for len(b) > 0 {
		var h zstd.Header
		if err := h.Decode(b); err != nil {
			return err
		}
		window := h.WindowSize
		if h.SingleSegment {
			window = h.FrameContentSize
		}
		if window > max(maxZstdWindow, size) {
			return fmt.Errorf("zstd frame with a window of %d bytes where %d bytes are announced", window, size)
		}
		end := uint64(h.HeaderSize) + uint64(h.SkippableSize)
		for last := h.Skippable; !last; {
			if end+3 > uint64(len(b)) {
				return io.ErrUnexpectedEOF
			}
			block := uint64(b[end]) | uint64(b[end+1])<<8 | uint64(b[end+2])<<16 // RFC 8878, 3.1.1.2
			last = block&1 != 0
			end += 3 + block>>3
			if block>>1&3 == 1 {
				end -= block>>3 - 1 // a run is stored as one byte
			}
		}
		if h.HasCheckSum {
			end += 4
		}
		if end > uint64(len(b)) {
			return io.ErrUnexpectedEOF
		}
		b = b[end:]
	}
	return nil
}
