package oip

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"thresher/dataset/jsonscan"
	"thresher/service/problem"
)

// input is one tensor of a request.
type input struct {
	at       int // index among the inputs
	name     string
	datatype string
	shape    []int64
	size     int64 // bytes of binary data; -1 if none are announced
	given    bool  // the data was found
	entries  entries
}

// inputs describes the inputs of a collection of dimension dim, the required one first.
func inputs(dim int, textual bool) []Tensor {
	id := "INT64"
	if textual {
		id = "BYTES"
	}
	return []Tensor{
		{"queries", "FP32", []int64{-1, int64(dim)}},
		{"k", "INT32", []int64{1}},
		{"delta", "FP32", []int64{1}},
		{inputKs, "INT32", []int64{-1}},
		{inputFloors, "FP64", []int64{-1}},
		{inputCeilings, "FP64", []int64{-1}},
		{inputExclude, id, []int64{-1, -1}},
		{inputCandidates, id, []int64{-1, -1}},
	}
}

// inputNames returns the names of the inputs.
func inputNames() []string {
	var all []string
	for _, t := range inputs(0, false) {
		all = append(all, t.Name)
	}
	return all
}

// datatypes returns the datatypes that the input may have.
func (t *input) datatypes() []string {
	for _, known := range inputs(0, false) {
		switch {
		case t.name != known.Name:
		case t.lists():
			return []string{known.Datatype, "BYTES"}
		case t.limits():
			return []string{known.Datatype, "FP32"}
		default:
			return []string{known.Datatype}
		}
	}
	return nil
}

// input reads input number n.
func (d *decoder) input(n int, b []byte, at int) (int, error) {
	t := input{at: n, size: -1}
	next, err := d.read(&t, b, at)
	return next, t.wrong(err)
}

// wrong is problem.Unreadable with the index of the input and, if there is such an input, its
// name.
func (t *input) wrong(err error) error {
	if err == nil {
		return nil
	}
	p, name := problem.Unreadable(err), ""
	if known(t.name) == nil {
		name = " (" + t.name + ")"
	}
	p.Detail = fmt.Sprintf("inputs[%d]%s: %s", t.at, name, strings.TrimPrefix(p.Detail, t.name+": "))
	if p.Field == "" {
		p.At("inputs", t.at)
	}
	return p
}

// read reads t.
func (d *decoder) read(t *input, b []byte, at int) (int, error) {
	data := -1 // index of data that precede the name
	seen := map[string]bool{}
	next, err := jsonscan.Fields(b, at, func(key []byte, at int) (next int, err error) {
		field := cut(key)
		if seen[field] {
			return at, problem.New(problem.InvalidValue, "%s is given twice", field)
		}
		seen[field] = true
		switch field {
		case "name":
			if t.name, next, err = text("name", b, at); err != nil {
				return next, err
			}
			return next, known(t.name)
		case "datatype":
			t.datatype, next, err = text("datatype", b, at)
			return next, err
		case "shape":
			t.shape, next, err = shape(b, at)
			return next, err
		case "parameters":
			return jsonscan.Fields(b, at, func(key []byte, at int) (next int, err error) {
				if name := cut(key); name != "binary_data_size" {
					return at, problem.New(problem.UnknownField, "there is no parameter %q", name).Within([]string{"binary_data_size"})
				}
				if t.size, next, err = parseInt("binary_data_size", b, at); err == nil && t.size < 0 {
					err = problem.New(problem.InvalidValue, "binary_data_size is %d", t.size).Within(0)
				}
				return next, err
			})
		case "data":
			t.given = true
			if t.name == "" {
				data = at
				return jsonscan.Value(b, at)
			}
			return d.data(t, b, at)
		}
		return at, problem.New(problem.UnknownField, "there is no field %q", field).
			Within([]string{"name", "shape", "datatype", "parameters", "data"})
	})
	if err != nil {
		return next, err
	}
	if t.name == "" {
		return at, problem.New(problem.InvalidValue, "name is missing")
	}
	if err := d.check(t); err != nil {
		return at, err
	}
	if data >= 0 {
		if at, err := d.data(t, b, data); err != nil {
			return at, err
		}
	}
	return next, d.agree(t)
}

func known(name string) error {
	names := inputNames()
	if slices.Contains(names, name) {
		return nil
	}
	name = cut([]byte(name))
	return problem.New(problem.UnknownField, "there is no input %q", name).Within(names)
}

// shape reads an array of sizes, at most two.
func shape(b []byte, at int) ([]int64, int, error) {
	var sizes []int64
	next, err := jsonscan.Elements(b, at, func(i, at int) (int, error) {
		if i == 2 {
			return at, problem.New(problem.InvalidValue, "shape has more than 2 dimensions").Within(2)
		}
		size, next, err := parseInt("shape", b, at)
		if err == nil && size < 0 {
			err = problem.New(problem.InvalidValue, "shape has the negative size %d", size).Within(0)
		}
		sizes = append(sizes, size)
		return next, err
	})
	return sizes, next, err
}

// check checks datatype and shape of the input.
func (d *decoder) check(t *input) error {
	if want := t.datatypes(); !slices.Contains(want, t.datatype) {
		text := strings.Join(want, " or ")
		return problem.New(problem.InvalidValue, "datatype is %q, %s is wanted", cut([]byte(t.datatype)), text).In(t.name).Within(text)
	}
	if t.perQuery() {
		return t.checkPerQuery()
	}
	if t.name == "queries" {
		if len(t.shape) != 2 {
			return problem.New(problem.InvalidValue, "shape is %v, [m, %d] is wanted", t.shape, d.dim).In(t.name).Within([]int{-1, d.dim})
		}
		return d.draft.Shape(t.shape[0], t.shape[1])
	}
	if len(t.shape) != 1 || t.shape[0] != 1 {
		return problem.New(problem.InvalidValue, "shape is %v, [1] is wanted", t.shape).In(t.name).Within([]int{1})
	}
	return nil
}

// data reads the data of an input as JSON at b[at]: queries flat or as an array for each
// query, k and delta as an array of one.
func (d *decoder) data(t *input, b []byte, at int) (int, error) {
	if t.perQuery() {
		return t.readEntries(b, at)
	}
	if t.name != "queries" {
		count := 0
		next, err := jsonscan.Elements(b, at, func(n, at int) (int, error) {
			if count++; n > 0 {
				return at, problem.New(problem.InvalidValue, "there is more than one value").At(t.name, n).Within(1)
			}
			return d.draft.Option(t.name, b, at)
		})
		if err == nil && count == 0 {
			err = problem.New(problem.InvalidValue, "there is no value").In(t.name).Within(1)
		}
		return next, inField(err, t.name)
	}
	if first := jsonscan.Space(b, at+1); at < len(b) && b[at] == '[' && first < len(b) && b[first] == '[' {
		return d.draft.Matrix(b, at)
	}
	expected, ok := product(t.shape)
	if most := int64(len(b)-at) / 2; !ok || t.shape == nil || expected > most {
		expected = 0 // it follows, or is not true
	}
	return d.draft.Flat(b, at, int(expected))
}

// agree checks the data of an input against its shape, or records that the data follow.
func (d *decoder) agree(t *input) error {
	switch {
	case t.given && t.size >= 0:
		return problem.New(problem.InvalidValue, "there are data and binary_data_size").In(t.name)
	case !t.given && t.size < 0:
		return problem.New(problem.InvalidValue, "there is neither data nor binary_data_size").In(t.name)
	case t.size >= 0:
		if err := t.checkSize("binary_data_size is"); err != nil {
			return err
		}
		d.binary = append(d.binary, *t)
		return nil
	case t.perQuery():
		return d.setEntries(t)
	case t.name != "queries":
		return nil
	}
	m := int64(d.draft.Len() / d.dim)
	if m != t.shape[0] || d.draft.Len()%d.dim != 0 {
		return problem.New(problem.InvalidValue, "shape %v takes %s values, data has %d", t.shape, figure(product(t.shape)), d.draft.Len()).
			In(t.name).Within(t.shape[0])
	}
	return nil
}

// product returns the product of nonnegative sizes; false if it overflows int64.
func product(sizes []int64) (int64, bool) {
	p := uint64(1)
	for _, s := range sizes {
		hi, lo := bits.Mul64(p, uint64(s))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, false
		}
		p = lo
	}
	return int64(p), true
}

// checkSize checks the size of binary data against the shape. The size of text is not determined
// by it.
func (t *input) checkSize(is string) error {
	each := int64(4)
	switch t.datatype {
	case "BYTES":
		return nil
	case "INT64", "FP64":
		each = 8
	}
	n, ok := product(t.shape)
	if ok = ok && n <= math.MaxInt64/each; ok && each*n == t.size {
		return nil
	}
	return problem.New(problem.InvalidValue, "shape %v of %s takes %s bytes, %s %d", t.shape, t.datatype, figure(each*n, ok), is, t.size).
		In(t.name).Within(figure(each*n, ok))
}

func figure(n int64, ok bool) string {
	if !ok {
		return "more than 2^63"
	}
	return strconv.FormatInt(n, 10)
}

// withoutTensors refuses binary data if the header that says where it begins is missing.
func (d *decoder) withoutTensors() error {
	for i := range d.binary {
		if t := &d.binary[i]; t.size > 0 {
			return t.wrong(problem.New(problem.Malformed, "binary_data_size is %d but the request lacks the header %s", t.size, HeaderLength).In(t.name))
		}
	}
	return nil
}

// tensors reads the binary data b that follows the JSON.
func (d *decoder) tensors(b []byte) error {
	for i := range d.binary {
		t := &d.binary[i]
		if t.size > int64(len(b)) {
			return t.wrong(problem.New(problem.Malformed, "binary_data_size is %d, the body has %d bytes left", t.size, len(b)).In(t.name).Within(len(b)))
		}
		if err := d.tensor(t, b[:t.size]); err != nil {
			return t.wrong(err)
		}
		b = b[t.size:]
	}
	if len(b) > 0 {
		return problem.New(problem.Malformed, "%d bytes follow the binary data of the inputs", len(b)).In("inputs")
	}
	return nil
}

func (d *decoder) tensor(t *input, b []byte) error {
	if t.perQuery() {
		if err := t.tensorEntries(b); err != nil {
			return err
		}
		return d.setEntries(t)
	}
	switch t.name {
	case "k":
		return d.draft.Integer(t.name, int64(int32(binary.LittleEndian.Uint32(b))))
	case "delta":
		return d.draft.Number(t.name, widen(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	}
	return d.queries(t.shape[0], b)
}

// widen returns the float64 of the shortest decimal that v stands for: 0.01 is read as 0.01,
// as in JSON, not as the float32 nearest to it.
func widen(v float32) float64 {
	x, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
	if err != nil {
		return float64(v)
	}
	return x
}

// rawQueries reads a body that consists of queries only.
func (d *decoder) rawQueries(b []byte) error {
	row := 4 * d.dim
	if len(b)%row != 0 {
		return problem.New(problem.WrongDimension, "input queries: %d bytes do not make whole rows of %d float32", len(b), d.dim).In("queries").Within(d.dim)
	}
	return d.queries(int64(len(b)/row), b)
}

// queries sets the queries to m rows of float32.
func (d *decoder) queries(m int64, b []byte) error {
	if err := d.draft.Shape(m, int64(d.dim)); err != nil {
		return err
	}
	return d.draft.Raw(b)
}
