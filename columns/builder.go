package columns

import (
	"fmt"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"thresher/dataset"
)

// null is the value of a row without one.
var null dataset.Value

// MaxRows is how many rows columns have at most.
const MaxRows = math.MaxInt32

// builder gathers the values of one column, row by row.
type builder struct {
	name string
	// kind is that of the values so far, NullValue before the first; of floats it is FloatValue if one is.
	kind   dataset.ValueKind
	rows   int
	filled *roaring.Bitmap
	// said says that names of folders have values of the column: texts, whatever they mean.
	said  bool
	finer finer

	integers []int64
	floats   []float64
	codes    []uint32 // in the order in which texts were first seen
	owner    []uint32 // of lists
	counts   []uint32 // of lists
	numbers  map[string]uint32
	texts    []string
	first    []uint32 // the row in which each of texts was first seen
}

func newBuilder(name string) *builder {
	return &builder{name: name, filled: roaring.New(), numbers: map[string]uint32{}}
}

// add adds the value of the next row.
func (b *builder) add(v *dataset.Value) error {
	kind := v.Kind
	if kind == dataset.NullValue {
		b.grow(1)
		b.rows++
		return nil
	}
	if b.kind == dataset.NullValue {
		rows := b.rows
		b.kind = kind
		b.rows = 0
		b.grow(rows)
		b.rows = rows
	}
	if kind != b.kind {
		if err := b.reconcile(kind); err != nil {
			return err
		}
	}
	b.filled.Add(uint32(b.rows))
	switch b.kind {
	case dataset.FloatValue, dataset.SingleValue:
		x := v.Float
		if kind == dataset.IntegerValue {
			x = float64(v.Integer)
			if !exactFloat(v.Integer) {
				return fmt.Errorf("column %q: integer %d among floats, and no float64 is that", b.name, v.Integer)
			}
		}
		b.floats = append(b.floats, x)
	case dataset.TextValue:
		b.codes = append(b.codes, b.number(v.Text))
	case dataset.ListValue:
		for _, text := range v.Texts {
			b.codes, b.owner = append(b.codes, b.number(text)), append(b.owner, uint32(b.rows))
		}
		b.counts = append(b.counts, uint32(len(v.Texts)))
	default:
		b.integers = append(b.integers, v.Integer)
		if v.Finer {
			b.finer.add(b.rows)
		}
	}
	b.rows++
	return nil
}

// grow adds n rows without a value, whose keys are never compared.
func (b *builder) grow(n int) {
	switch b.kind {
	case dataset.NullValue:
	case dataset.FloatValue, dataset.SingleValue:
		b.floats = append(b.floats, make([]float64, n)...)
	case dataset.TextValue:
		b.codes = append(b.codes, make([]uint32, n)...)
	case dataset.ListValue:
		b.counts = append(b.counts, make([]uint32, n)...)
	default:
		b.integers = append(b.integers, make([]int64, n)...)
	}
}

// reconcile makes a column of integers one of floats, once one comes, and refuses other kinds than those before.
func (b *builder) reconcile(kind dataset.ValueKind) error {
	numbers := func(k dataset.ValueKind) bool { return k == dataset.IntegerValue || k == dataset.FloatValue }
	if !numbers(kind) || !numbers(b.kind) {
		return fmt.Errorf("column %q: %s, where the rows before have %s", b.name, kind, b.kind)
	}
	if b.kind == dataset.FloatValue {
		return nil
	}
	b.floats = make([]float64, len(b.integers), 2*len(b.integers)+1)
	for row, x := range b.integers {
		if !exactFloat(x) {
			return fmt.Errorf("column %q: a float, and row %d has the integer %d, which no float64 is", b.name, row, x)
		}
		b.floats[row] = float64(x)
	}
	b.integers, b.kind = nil, dataset.FloatValue
	return nil
}

// exactFloat reports whether an integer is a float64.
func exactFloat(x int64) bool {
	f := float64(x)
	return f < 1<<63 && int64(f) == x
}

// number returns the number of a text.
func (b *builder) number(text string) uint32 {
	n, ok := b.numbers[text]
	if !ok {
		n = uint32(len(b.texts))
		b.numbers[text], b.texts, b.first = n, append(b.texts, text), append(b.first, uint32(b.rows))
	}
	return n
}

// column returns the column. Texts of files without types are numbers, bools or times if all of them are; of JSON they
// are times, if all of them are.
func (b *builder) column(untyped bool) *Column {
	c := &Column{Name: b.name, rows: b.rows, filled: b.filled, comparable: b.filled, finer: b.finer}
	switch b.kind {
	case dataset.TextValue:
		b.textColumn(c, untyped)
	case dataset.ListValue:
		c.Type, c.counts = TextList, b.counts
		c.codes = &ordered[uint32]{keys: b.codes, owner: b.owner, rows: b.rows, valid: b.filled}
		b.sortTexts(c)
	case dataset.FloatValue, dataset.SingleValue:
		if c.Type = Float; b.kind == dataset.SingleValue {
			c.Type = Single
		}
		c.setFloats(b.floats)
	default:
		c.Type = map[dataset.ValueKind]Type{dataset.IntegerValue: Integer, dataset.BoolValue: Bool, dataset.TimeValue: Time, dataset.NullValue: Text}[b.kind]
		if b.kind == dataset.NullValue { // of any type
			c.codes = &ordered[uint32]{keys: make([]uint32, b.rows), rows: b.rows, valid: b.filled}
			return c
		}
		c.setIntegers(b.integers)
	}
	return c
}

// columnAs returns the column, of the type of one that it was made of if it has no values.
func (b *builder) columnAs(of *Column) *Column {
	if of.Type == Text && b.kind == dataset.TextValue { // and stays so, though all that is left may be times
		c := &Column{Name: b.name, rows: b.rows, filled: b.filled, comparable: b.filled}
		b.keepTexts(c)
		return c
	}
	c := b.column(false)
	if b.kind == dataset.NullValue {
		c.Type = of.Type
		switch {
		case of.integers != nil:
			c.codes = nil
			c.setIntegers(make([]int64, b.rows))
		case of.floats != nil:
			c.codes = nil
			c.setFloats(make([]float64, b.rows))
		case of.counts != nil || of.Type == TextList:
			c.counts = make([]uint32, b.rows)
			c.codes = &ordered[uint32]{owner: []uint32{}, rows: b.rows, valid: b.filled}
		}
	}
	return c
}

func (c *Column) setIntegers(keys []int64) {
	c.integers = &ordered[int64]{keys: keys, rows: c.rows, valid: c.filled}
}

func (c *Column) setFloats(keys []float64) {
	unordered := roaring.New()
	for row, x := range keys {
		if math.IsNaN(x) {
			unordered.Add(uint32(row))
		}
	}
	c.comparable = roaring.AndNot(c.filled, unordered)
	c.floats = &ordered[float64]{keys: keys, rows: c.rows, valid: c.comparable}
}

// sortTexts makes the codes those of a sorted dictionary.
func (b *builder) sortTexts(c *Column) {
	c.dictionary = slices.Sorted(slices.Values(b.texts))
	place := make([]uint32, len(b.texts))
	for i, text := range c.dictionary {
		place[b.numbers[text]] = uint32(i)
	}
	for i, code := range b.codes {
		if len(place) > 0 {
			b.codes[i] = place[code]
		}
	}
	b.numbers, b.texts = nil, nil
}

// textColumn completes a column of texts.
func (b *builder) textColumn(c *Column, untyped bool) {
	if untyped && b.infer(c) {
		return
	}
	if times, _ := parsed(b.texts, timeText); times != nil {
		c.Type = Time
		c.setIntegers(spread(b, times))
		b.countFiner(c)
		return
	}
	b.keepTexts(c)
}

// countFiner counts the times that texts tell and c does not.
func (b *builder) countFiner(c *Column) {
	fine := make([]bool, len(b.texts))
	for i, text := range b.texts {
		fine[i] = isFiner(text)
	}
	if !slices.Contains(fine, true) {
		return
	}
	for row, code := range b.codes {
		if b.filled.Contains(uint32(row)) && fine[code] {
			c.finer.add(row)
		}
	}
}

// keepTexts makes the texts those of c.
func (b *builder) keepTexts(c *Column) {
	c.Type = Text
	c.codes = &ordered[uint32]{keys: b.codes, rows: b.rows, valid: b.filled}
	b.sortTexts(c)
}

// infer makes the column one of numbers or bools, if all texts are.
func (b *builder) infer(c *Column) bool {
	integers, _ := parsed(b.texts, integerText)
	if integers != nil {
		c.Type = Integer
		c.setIntegers(spread(b, integers))
		return true
	}
	floats, stray := parsed(b.texts, floatText)
	if floats != nil && slices.ContainsFunc(floats, func(x float64) bool { return !math.IsNaN(x) }) {
		c.Type = Float
		c.setFloats(spread(b, floats))
		return true
	}
	bools, _ := parsed(b.texts, boolText)
	if bools != nil {
		c.Type = Bool
		c.setIntegers(spread(b, bools))
		return true
	}
	if stray > 0 { // numbers stand before it
		c.example = fmt.Sprintf("row %d (0-based) has %.40q, which is no number", b.first[stray], b.texts[stray])
	}
	return false
}

// parsed reads all texts as values of one kind; it returns nil and the first text that is none.
func parsed[T any](texts []string, parse func(text string) (T, bool)) (values []T, stray int) {
	values = make([]T, len(texts))
	for i, text := range texts {
		v, ok := parse(text)
		if !ok {
			return nil, i
		}
		values[i] = v
	}
	return values, -1
}

// spread returns the value of each row, by that of each text.
func spread[T any](b *builder, values []T) []T {
	all := make([]T, b.rows)
	for row, code := range b.codes {
		if b.filled.Contains(uint32(row)) {
			all[row] = values[code]
		}
	}
	return all
}
