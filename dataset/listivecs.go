package dataset

import (
	"encoding/binary"
	"io"
	"math"
)

// ivecsLists reads rows of different lengths.
type ivecsLists struct {
	*source
	next int64
	buf  []byte
	list []int64
	err  error
}

func openIVecsLists(src *source, _ ListOptions) (ListReader, error) {
	return &ivecsLists{source: src}, nil
}

func (v *ivecsLists) Len() int64   { return -1 }
func (v *ivecsLists) Limit() int64 { return -1 }

func (v *ivecsLists) Next() (List, error) {
	if v.err != nil {
		return List{}, v.err
	}
	if v.err = v.row(); v.err != nil {
		return List{}, v.err
	}
	v.next++
	return List{IDs: v.list}, nil
}

func (v *ivecsLists) row() error {
	var head [4]byte
	if _, err := io.ReadFull(v.r, head[:]); err == io.EOF {
		return io.EOF
	} else if err != nil {
		return failAt(v.name, v.next, -1, "%w", cutShort(err))
	}
	n := int64(int32(binary.LittleEndian.Uint32(head[:])))
	if n < 0 || n > math.MaxInt32/4 {
		return failAt(v.name, v.next, -1, "a row of %d ids is outside [0, %d]", n, math.MaxInt32/4)
	}
	if err := v.budget.checkRow("the list", 4*n); err != nil {
		return failAt(v.name, v.next, -1, "%w", err)
	}
	var err error
	if v.buf, err = readGrowing(v.r, v.buf, 4*n); err != nil {
		return failAt(v.name, v.next, -1, "%w", cutShort(err))
	}
	id := func(j int) int64 { return int64(int32(binary.LittleEndian.Uint32(v.buf[4*j:]))) }
	have := 0
	for have < int(n) && id(have) >= 0 {
		have++
	}
	if err := onlyPadding(id, have, int(n)); err != nil {
		return failAt(v.name, v.next, int64(have), "%w", err)
	}
	v.list = sized(v.list, have)
	for j := range v.list {
		v.list[j] = id(j)
	}
	return nil
}
