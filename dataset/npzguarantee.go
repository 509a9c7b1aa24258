package dataset

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// npzGuarantee is the dtype of the array guarantee: names of at most mostGuarantee ASCII characters.
const (
	npzGuarantee  = "<U13"
	mostGuarantee = 13
)

// checkGuarantee refuses what is no name of a guarantee.
func checkGuarantee(name string) error {
	if len(name) > mostGuarantee {
		return fmt.Errorf("guarantee %.40q is longer than %d characters", name, mostGuarantee)
	}
	for _, r := range name {
		if r < ' ' || r > '~' {
			return fmt.Errorf("guarantee %q is not ASCII", name)
		}
	}
	return nil
}

// appendGuarantee appends a name as an element of the array: code points of four bytes, padded with
// zeros.
func appendGuarantee(dst []byte, name string) []byte {
	for i := range mostGuarantee {
		c := uint32(0)
		if i < len(name) {
			c = uint32(name[i])
		}
		dst = binary.LittleEndian.AppendUint32(dst, c)
	}
	return dst
}

// npzGuarantees streams the array guarantee.
type npzGuarantees struct {
	texts npzNamed // of which only the texts are used
}

// openGuarantees opens the array guarantee of rows names, -1 for any number; nil if there is none.
func openGuarantees(src *source, entries []npzEntry, rows int64) (*npzGuarantees, error) {
	e, err := chooseArray(src.name, entries, []string{"guarantee"})
	if e == nil || err != nil {
		return nil, err
	}
	name, h := src.name+":"+e.name, e.header
	if len(h.shape) != 1 || rows >= 0 && h.shape[0] != rows {
		return nil, fail(name, "array has shape %v, one name a row of ids is wanted", h.shape)
	}
	g := &npzGuarantees{npzNamed{name: name, big: h.big, meter: idMeter{budget: src.budget, passing: true}}}
	if len(h.descr) < 2 || h.descr[1] != 'U' && h.descr[1] != 'S' {
		return nil, fail(name, "dtype %q is not that of texts", h.descr)
	}
	if err := g.texts.kind(h); err != nil {
		return nil, fail(name, "%w", err)
	}
	f, err := e.file.Open()
	if err != nil {
		return nil, fail(name, "%w", err)
	}
	src.shut = append([]io.Closer{f}, src.shut...)
	g.texts.r = bufio.NewReader(f)
	if _, err := g.texts.r.Discard(int(h.length)); err != nil {
		return nil, fail(name, "%w", cutShort(err))
	}
	return g, nil
}

// next returns the name of a row.
func (g *npzGuarantees) next(row int64) (string, error) {
	name, err := g.texts.id()
	if err == nil {
		err = checkGuarantee(name)
	}
	if err != nil {
		return "", failAt(g.texts.name, row, -1, "%w", cutShort(err))
	}
	return name, nil
}
