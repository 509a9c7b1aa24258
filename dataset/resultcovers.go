package dataset

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
)

// coversOf returns what a file says that its answers cover, if it is a JSON object; files of others
// may have anything there.
func coversOf(text []byte) json.RawMessage {
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return nil
	}
	return text
}

// readCovers reads the array covers, bytes of JSON; nil if there is none.
func readCovers(src *source, entries []npzEntry) (json.RawMessage, error) {
	at := slices.IndexFunc(entries, func(e npzEntry) bool { return e.name == coversName })
	if at < 0 {
		return nil, nil
	}
	e := &entries[at]
	size, err := strconv.Atoi(e.header.descr[min(2, len(e.header.descr)):])
	if err != nil || len(e.header.shape) > 0 || e.header.descr[1] != 'S' {
		return nil, nil // of others
	}
	name := src.name + ":" + e.name
	if err := src.budget.checkRow("the text", int64(size)); err != nil {
		return nil, fail(name, "%w", err)
	}
	r, err := e.file.Open()
	if err != nil {
		return nil, fail(name, "%w", err)
	}
	defer r.Close()
	if _, err := io.CopyN(io.Discard, r, int64(e.header.length)); err != nil {
		return nil, fail(name, "%w", cutShort(err))
	}
	text, err := readGrowing(r, nil, int64(size))
	if err != nil {
		return nil, fail(name, "%w", cutShort(err))
	}
	return coversOf(text), nil
}
