package dataset

import (
	"path/filepath"
	"slices"
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
	F16Bin      Format = "f16bin"
	JSONL       Format = "jsonl"
	CSV         Format = "csv"
	Parquet     Format = "parquet"
	Arrow       Format = "arrow file"
	ArrowStream Format = "arrow stream"
	SafeTensors Format = "safetensors"
	IDX         Format = "idx"
	TREC        Format = "trec"
)

// knownExtensions lists the extensions of all formats, for messages.
func knownExtensions() string {
	var all []string
	for i := range codecs {
		for _, ext := range codecs[i].extensions {
			all = append(all, "."+ext)
		}
	}
	return strings.Join(all, " ")
}

// FormatOf returns the format by the extension of path, and whether .gz follows. It does
// not look at the content.
func FormatOf(path string) (f Format, gzipped bool) {
	path = strings.ToLower(path)
	if s, ok := strings.CutSuffix(path, ".gz"); ok {
		path, gzipped = s, true
	}
	ext := strings.TrimPrefix(filepath.Ext(path), ".")
	for i := range codecs {
		if slices.Contains(codecs[i].extensions, ext) {
			return codecs[i].format, gzipped
		}
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
	for i := range codecs {
		if sign := codecs[i].signature; sign != nil && sign(head) {
			return codecs[i].format
		}
	}
	return Unknown
}

// isWeak reports whether files of formats without a signature may begin like content.
func isWeak(content Format) bool { return content == Unknown || codecOf(content).weak }

// reconcile decides between the format of the extension and that of the content.
func reconcile(name string, ext, content Format) (Format, error) {
	switch {
	case ext == Unknown && content == Unknown:
		return Unknown, fail(name, "unknown format: neither the content nor the extension is known (extensions: %s, and .gz after those that stream)", knownExtensions())
	case ext == Unknown, ext == content:
		return content, nil
	case (ext == Arrow || ext == ArrowStream) && (content == Arrow || content == ArrowStream):
		return content, nil
	case isWeak(content): // the reader of the extension's format validates the content
		return ext, nil
	}
	return Unknown, fail(name, "extension says %s but the content is %s", ext, content)
}
