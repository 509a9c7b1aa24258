package dataset

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"thresher/internal/plaintext"
)

// codec is what the package knows of one format: its names, what its files look like, and the functions that read
// and write it, which are nil where there is no such thing. codecs has one for each format; nothing else lists them.
type codec struct {
	format     Format
	extensions []string                // without the dot
	signature  func(head []byte) bool  // whether a file begins like one of the format; nil if it has no sign
	weak       bool                    // files of formats without a signature may begin like one of this
	seeks      bool                    // needs a plain file: it cannot be read from a stream
	names      naming                  // of its parts
	header     bool                    // its first line may name columns
	lines      func(head []byte) error // refuses text whose lines end in another way; nil if it has no lines
	peeked     bool                    // lines is shown plaintext.Peeked bytes, not only those that have come

	vectors     func(src *source, format Format, opt Options) (Reader, error)
	table       func(src *source, header string) (tableReader, error) // header as openCSVRows has it
	numbers     bool                                                  // table has numbers alone
	answersOnly bool                                                  // table has answers alone
	write       func(out io.Writer, t *table) error
	writes      shape
	valuesOnly  bool // write is of WriteValues alone

	// Forms that are no tables.
	lists   func(src *source, opt ListOptions) (ListReader, error) // a list of ids a query
	answers func(src *source) (ResultReader, error)                // nil: by table
	like    func(head []byte, size int64) bool                     // whether a file without a sign is one of answers; nil: never
	bare    func(name string) AnswersForm                          // of the file of this name; nil: by write
	scores  func(spool io.ReadSeeker, k int, out io.Writer) error  // those of answers alone
	graph   func(rows EachResult, n int64, out io.Writer) error    // its edges; nil: by write
}

// shape says which tables a format holds.
type shape uint8

const (
	oneColumn   shape = iota // without lists
	flatColumns              // any number of them
	listColumns
	jsonColumns // and lists
)

// holds reports whether t can be written.
func (c *codec) holds(t *table) bool {
	if c.write == nil || c.valuesOnly && !t.values || c.writes == oneColumn && len(t.columns) != 1 {
		return false
	}
	for i := range t.columns {
		if t.columns[i].List && c.writes < listColumns || t.columns[i].Type == JSON && c.writes < jsonColumns {
			return false
		}
	}
	return true
}

// naming says what the names in a file are of.
type naming uint8

const (
	unnamed      naming = iota
	namedTensors        // arrays, none of which can be ids
	namedArrays
	namedColumns // or fields of lines
)

// codecs are the formats, in the order in which signatures are tried.
var codecs = []codec{
	{format: NPY, extensions: []string{"npy"}, signature: starts("\x93NUMPY"), vectors: ofOptions(openNPY), table: openNPYRows, write: writeNPY},
	{format: NPZ, extensions: []string{"npz"}, signature: starts("PK\x03\x04", "PK\x05\x06"), seeks: true, names: namedArrays, vectors: ofOptions(openNPZ), table: openNPZRows, write: writeNPZ, writes: listColumns, lists: openExcluded, graph: WriteCSR},
	{format: FVecs, extensions: []string{"fvecs"}, vectors: openVecs, scores: assembleFVecs},
	{format: BVecs, extensions: []string{"bvecs"}, vectors: openVecs},
	{format: IVecs, extensions: []string{"ivecs"}, vectors: openVecs, lists: openIVecsLists, answers: openIVecsResults, bare: ivecsForm},
	{format: FBin, extensions: []string{"fbin"}, vectors: openBin, scores: assembleFBin},
	{format: IBin, extensions: []string{"ibin"}, vectors: openBin, answers: openTruth, like: isTruth, bare: ibinForm},
	{format: U8Bin, extensions: []string{"u8bin"}, vectors: openBin},
	{format: I8Bin, extensions: []string{"i8bin"}, vectors: openBin},
	{format: F16Bin, extensions: []string{"f16bin"}, vectors: openBin},
	{format: CSV, extensions: []string{"csv", "tsv"}, names: namedColumns, header: true, lines: plaintext.CheckCSV, peeked: true, vectors: ofOptions(openCSV), table: openCSVRows, write: writeCSV, writes: flatColumns},
	{format: Parquet, extensions: []string{"parquet", "pq"}, signature: starts("PAR1"), seeks: true, names: namedColumns, vectors: ofOptions(openParquet), table: openParquetRows, write: writeParquet, writes: listColumns},
	{format: Arrow, extensions: []string{"arrow", "ipc", "feather"}, signature: starts("ARROW1"), names: namedColumns, vectors: ofOptions(openArrow), table: openArrowRows, numbers: true, write: writeArrowFile, writes: listColumns, valuesOnly: true},
	{format: ArrowStream, extensions: []string{"arrows"}, signature: starts("\xff\xff\xff\xff"), weak: true, names: namedColumns, vectors: ofOptions(openArrow), table: openArrowRows, numbers: true, write: writeArrowStream, writes: listColumns, valuesOnly: true},
	{format: SafeTensors, extensions: []string{"safetensors"}, signature: isSafeTensors, weak: true, names: namedTensors, vectors: ofOptions(openSafeTensors)},
	{format: IDX, extensions: []string{"idx"}, signature: isIDX, weak: true, vectors: ofOptions(openIDX)},
	{format: TREC, extensions: []string{"trec", "run", "qrels"}, table: openTREC, names: namedColumns, answersOnly: true},
	{format: JSONL, extensions: []string{"jsonl", "ndjson"}, signature: isJSON, weak: true, names: namedColumns, lines: plaintext.CheckJSON, vectors: ofOptions(openJSONL), table: openJSONLRows, write: writeJSONL, writes: jsonColumns, lists: openJSONLLists, answers: openJSONResults},
}

// codecOf returns the row of a format, an empty one for what is none.
func codecOf(f Format) *codec {
	for i := range codecs {
		if codecs[i].format == f {
			return &codecs[i]
		}
	}
	return &codec{format: f}
}

// formatsThat lists the formats for which has is true, for messages.
func formatsThat(has func(c *codec) bool) string {
	var names []string
	for i := range codecs {
		if has(&codecs[i]) {
			names = append(names, string(codecs[i].format))
		}
	}
	return strings.Join(names, ", ")
}

// writeTable writes a table of what in a format.
func writeTable(out io.Writer, f Format, what string, t *table) error {
	c := codecOf(f)
	if !c.holds(t) {
		return fmt.Errorf("%s are not written as %s; formats that are: %s", what, f, formatsThat(func(c *codec) bool { return c.holds(t) }))
	}
	return c.write(out, t)
}

// starts is the signature of files that begin with one of some texts.
func starts(texts ...string) func(head []byte) bool {
	return func(head []byte) bool {
		for _, text := range texts {
			if bytes.HasPrefix(head, []byte(text)) {
				return true
			}
		}
		return false
	}
}

// isSafeTensors recognises the length of the header, and the bracket with which it begins.
func isSafeTensors(head []byte) bool {
	return len(head) > 8 && head[6] == 0 && head[7] == 0 && head[8] == '{'
}

// isJSON recognises the first bracket.
func isJSON(head []byte) bool {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(byteOrderMark)), " \t\r\n")
	return len(text) > 0 && (text[0] == '[' || text[0] == '{')
}

// ofOptions opens vectors of a format that has one form.
func ofOptions(open func(src *source, opt Options) (Reader, error)) func(*source, Format, Options) (Reader, error) {
	return func(src *source, _ Format, opt Options) (Reader, error) { return open(src, opt) }
}
