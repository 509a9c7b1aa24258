package dataset

import (
	"cmp"
	"fmt"
)

// Budget limits the memory that a reader takes for what a file claims or expands to. Each limit is compared
// with before memory is allocated; what exceeds one is a [LimitError]. A zero is the default, which is that of
// BudgetOf 4 GiB, but that Block and IDs are 16 times the size of the file if that is more.
type Budget struct {
	// Columns is the greatest number of columns: coordinates of a vector, fields of a row, columns or arrays
	// of a file.
	Columns int64
	// Row is the greatest number of bytes of a row as it is stored: a line, a record of CSV, a list of ids.
	Row int64
	// Block is the greatest number of bytes of what is decoded as a whole: a page of Parquet with its levels, a
	// dictionary, a record batch of Arrow, a header.
	Block int64
	// IDBytes is the greatest number of bytes of an id, IDs that of all ids of a file together.
	IDBytes, IDs int64
	// Flight is the number of bytes of ids after which Read returns the rows that it has, so that its caller
	// can count them before there are more.
	Flight int64
	// Word is what sets these limits, as errors name it: a flag or a setting. "" is Options.Budget. IDWord is what
	// sets IDBytes, "" the same.
	Word, IDWord string
}

const (
	defaultRead = 4 << 30 // bytes, of BudgetOf
	readFactor  = 16      // of the size of a file

	// The least limits, below which ordinary files would be refused.
	minColumns = 1 << 16
	minRow     = 4 << 20
	minBlock   = 16 << 20
	minID      = 1 << 10

	maxColumns = 1 << 22  // twice what a collection can have
	idsAtOnce  = 16 << 20 // more does not make reading faster
)

// BudgetOf returns the budget of a reader that may take about this many bytes for one thing that it decodes:
// Block and IDs are bytes, but at least 16 MiB; a row has a 16th of that, but at least 4 MiB, and an id a 65,536th,
// but at least 1 KiB. There may be a column for each KiB, but at least 65,536 and at most 4,194,304. 0 is the
// default. word is Budget.Word.
func BudgetOf(bytes int64, word string) *Budget {
	if bytes <= 0 {
		return &Budget{Word: word}
	}
	return &Budget{
		Columns: min(max(bytes>>10, minColumns), maxColumns),
		Row:     max(bytes>>4, minRow),
		Block:   max(bytes, minBlock),
		IDBytes: max(bytes>>16, minID),
		IDs:     max(bytes, minBlock),
		Flight:  idsAtOnce,
		Word:    word,
	}
}

// of returns the limits for a file of this size, -1 if it is not known.
func (b *Budget) of(size int64) *Budget {
	all := BudgetOf(defaultRead, "Options.Budget")
	all.IDWord = all.Word
	if size > defaultRead/readFactor {
		all.Block, all.IDs = readFactor*size, readFactor*size
	}
	if b == nil {
		return all
	}
	return &Budget{
		Columns: cmp.Or(b.Columns, all.Columns),
		Row:     cmp.Or(b.Row, all.Row),
		Block:   cmp.Or(b.Block, all.Block),
		IDBytes: cmp.Or(b.IDBytes, all.IDBytes),
		IDs:     cmp.Or(b.IDs, all.IDs),
		Flight:  cmp.Or(b.Flight, all.Flight),
		Word:    cmp.Or(b.Word, all.Word),
		IDWord:  cmp.Or(b.IDWord, b.Word, all.Word),
	}
}

// LimitError says that what is read exceeds a limit of a Budget. It is wrapped by an [Error], which says where.
type LimitError struct {
	What  string // what exceeds the limit, with the limit
	Limit int64  // of bytes or columns
	Word  string // what sets it
}

// Error names the limit and what sets it.
func (e *LimitError) Error() string { return e.What + " (" + e.Word + " sets the limit)" }

// exceeds returns the error of what exceeds limit.
func (b *Budget) exceeds(limit int64, format string, args ...any) error {
	return &LimitError{What: fmt.Sprintf(format, args...), Limit: limit, Word: b.Word}
}

// header limits what describes a file rather than being its rows: metadata, footers, lists of arrays. Decoded it
// may take some 16 times its bytes.
func (b *Budget) header() int64 { return b.Block / 16 }

// checkColumns refuses more columns than there may be.
func (b *Budget) checkColumns(n int64) error {
	if n > b.Columns {
		return b.exceeds(b.Columns, "%d columns exceed the limit of %d", n, b.Columns)
	}
	return nil
}

// checkBlock refuses a size, in bytes, of what is decoded as a whole.
func (b *Budget) checkBlock(what string, size int64) error {
	if size > b.Block {
		return b.exceeds(b.Block, "%s takes %d bytes, more than the limit of %d", what, size, b.Block)
	}
	return nil
}

// checkRow refuses a size, in bytes, of a row as it is stored.
func (b *Budget) checkRow(what string, size int64) error {
	if size > b.Row {
		return b.exceeds(b.Row, "%s takes %d bytes, more than the limit of %d", what, size, b.Row)
	}
	return nil
}

// idMeter counts the ids of a file.
type idMeter struct {
	budget  *Budget
	passing bool  // the ids are not kept, so that there may be any number of them
	all     int64 // bytes
	flight  int64 // bytes since begin
}

// idHeader is the memory of an id beside its bytes.
const idHeader = 16

// begin begins a Read.
func (m *idMeter) begin() { m.flight = 0 }

// full reports whether Read should return: the ids of its rows take enough memory.
func (m *idMeter) full() bool { return m.flight >= m.budget.Flight }

// add counts an id of n bytes, which the caller allocates afterwards.
func (m *idMeter) add(n int) error {
	size := int64(n) + idHeader
	m.all, m.flight = m.all+size, m.flight+size
	switch b := m.budget; {
	case int64(n) > b.IDBytes:
		return &LimitError{fmt.Sprintf("id of %d bytes, at most %d", n, b.IDBytes), b.IDBytes, b.IDWord}
	case m.all > b.IDs && !m.passing:
		return b.exceeds(b.IDs, "ids take more than the limit of %d bytes", b.IDs)
	}
	return nil
}
