package dataset

import (
	"bytes"
	"path/filepath"
	"strings"
)

// Format names a file format.
type Format string

// The formats. Unknown asks Open and NewReader to recognise the content.
const (
	Unknown     Format = ""
	NPY         Format = "npy"
	NPZ         Format = "npz"
	FVecs       Format = "fvecs"
	BVecs       Format = "bvecs"
	IVecs       Format = "ivecs"
	FBin        Format = "fbin"
	IBin        Format = "ibin"
	U8Bin       Format = "u8bin"
	I8Bin       Format = "i8bin"
	JSONL       Format = "jsonl"
	CSV         Format = "csv"
	Parquet     Format = "parquet"
	Arrow       Format = "arrow file"
	ArrowStream Format = "arrow stream"
	SafeTensors Format = "safetensors"
)

const knownExtensions = ".npy .npz .fvecs .bvecs .ivecs .fbin .ibin .u8bin .i8bin " +
	".jsonl .ndjson .csv .tsv .parquet .pq .arrow .arrows .ipc .feather .safetensors"

// FormatOf returns the format by the extension of path, and whether .gz follows. It does
// not look at the content.
func FormatOf(path string) (f Format, gzipped bool) {
	path = strings.ToLower(path)
	if s, ok := strings.CutSuffix(path, ".gz"); ok {
		path, gzipped = s, true
	}
	switch ext := strings.TrimPrefix(filepath.Ext(path), "."); ext {
	case "npy", "npz", "fvecs", "bvecs", "ivecs", "fbin", "ibin", "u8bin", "i8bin",
		"jsonl", "csv", "parquet", "safetensors":
		return Format(ext), gzipped
	case "ndjson":
		return JSONL, gzipped
	case "tsv":
		return CSV, gzipped
	case "pq":
		return Parquet, gzipped
	case "arrow", "ipc", "feather":
		return Arrow, gzipped
	case "arrows":
		return ArrowStream, gzipped
	}
	return Unknown, gzipped
}

// SniffLen is the number of bytes that Sniff needs.
const SniffLen = 16

// byteOrderMark may precede text and is skipped.
const byteOrderMark = "\xef\xbb\xbf"

// Sniff recognises formats by their signature, from the first SniffLen bytes or as many as
// there are. JSONL is recognised by its first bracket, the weakest signature.
func Sniff(head []byte) Format {
	switch {
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		return NPY
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return NPZ
	case bytes.HasPrefix(head, []byte("PAR1")):
		return Parquet
	case bytes.HasPrefix(head, []byte("ARROW1")):
		return Arrow
	case bytes.HasPrefix(head, []byte("\xff\xff\xff\xff")):
		return ArrowStream
	case len(head) > 8 && head[6] == 0 && head[7] == 0 && head[8] == '{':
		return SafeTensors
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(byteOrderMark)), " \t\r\n")
	if len(text) > 0 && (text[0] == '[' || text[0] == '{') {
		return JSONL
	}
	return Unknown
}

// isWeak reports whether files of formats without a signature may begin like content.
func isWeak(content Format) bool {
	return content == Unknown || content == JSONL || content == SafeTensors || content == ArrowStream
}

// reconcile decides between the format of the extension and that of the content.
func reconcile(name string, ext, content Format) (Format, error) {
	switch {
	case ext == Unknown && content == Unknown:
		return Unknown, fail(name, "unknown format: neither the content nor the extension is known (extensions: %s, and .gz after those that stream)", knownExtensions)
	case ext == Unknown, ext == content:
		return content, nil
	case (ext == Arrow || ext == ArrowStream) && (content == Arrow || content == ArrowStream):
		return content, nil
	case isWeak(content): // the reader of the extension's format validates the content
		return ext, nil
	}
	return Unknown, fail(name, "extension says %s but the content is %s", ext, content)
}
