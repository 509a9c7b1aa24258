package dataset

import (
	"math"
	"strconv"
	"strings"
)

// IDsBuilder gathers ids, row by row. They are numbers until a text is added that is none. The zero value has no rows.
type IDsBuilder struct {
	numbers []uint64
	signed  bool
	ends    []uint64 // nil while ids are numbers
	text    strings.Builder
}

// Len is the number of ids.
func (b *IDsBuilder) Len() int {
	if b.ends != nil {
		return len(b.ends) - 1
	}
	return len(b.numbers)
}

// Textual reports whether the ids are texts.
func (b *IDsBuilder) Textual() bool { return b.ends != nil }

// Bytes is the memory that the ids take.
func (b *IDsBuilder) Bytes() int64 { return int64(8*len(b.numbers) + 8*len(b.ends) + b.text.Len()) }

// Add appends an id as it is written. 2^64-1 is a text, since as a number it stands for none.
func (b *IDsBuilder) Add(id string) {
	if b.ends == nil {
		if x, ok := parseWhole(id); ok && x < math.MaxUint64 && !(b.signed && x > math.MaxInt64) {
			b.numbers = append(b.numbers, x)
			return
		}
		b.BecomeTexts()
	}
	b.AddText(id)
}

// AddText appends an id that is a text, also if it looks like a number.
func (b *IDsBuilder) AddText(id string) {
	b.BecomeTexts()
	b.text.WriteString(id)
	b.ends = append(b.ends, uint64(b.text.Len()))
}

// AddInt appends an integer. Of ids that are numbers throughout, either none or all are added by it.
func (b *IDsBuilder) AddInt(id int64) {
	if b.ends != nil {
		b.AddText(strconv.FormatInt(id, 10))
		return
	}
	b.signed = true
	b.numbers = append(b.numbers, uint64(id))
}

// BecomeTexts makes texts of the ids that there are, and of those that follow.
func (b *IDsBuilder) BecomeTexts() {
	if b.ends != nil {
		return
	}
	numbers := IDs{numbers: b.numbers, signed: b.signed}
	b.ends, b.numbers = append(make([]uint64, 0, 1+len(b.numbers)), 0), nil
	b.signed = false
	for row := range int64(numbers.Len()) {
		b.AddText(numbers.Text(row))
	}
}

// IDs returns the ids that were added. They share memory with the builder, to which more may be added.
func (b *IDsBuilder) IDs() *IDs {
	return &IDs{numbers: b.numbers, signed: b.signed, ends: b.ends, text: b.text.String()}
}

// PackedIDs are ids as they lie in memory, for files of them.
type PackedIDs struct {
	Numbers []uint64 // by row, if ids are numbers
	Signed  bool     // Numbers are those of int64
	// Ends are those of texts, nil for numbers: the id of row i is Text[Ends[i]:Ends[i+1]].
	Ends []uint64
	Text string
}

// NewIDs returns ids that lie in memory, and shares it. Ends must ascend within Text, and order be what Order returns.
func NewIDs(p PackedIDs, order []uint32) *IDs {
	d := &IDs{numbers: p.Numbers, signed: p.Signed, ends: p.Ends, text: p.Text}
	d.index.once.Do(func() {
		if !d.ascend() {
			d.index.order = order
		}
	})
	return d
}

// Packed returns how d lies in memory, which it shares.
func (d *IDs) Packed() PackedIDs {
	return PackedIDs{Numbers: d.numbers, Signed: d.signed, Ends: d.ends, Text: d.text}
}

// Order returns the rows by ascending id, those of one id by row; nil if that is their order.
func (d *IDs) Order() []uint32 {
	d.sort()
	return d.index.order
}
