package dataset

import (
	"encoding/binary"
	"encoding/json"
	"io"
)

// The safetensors format (https://github.com/huggingface/safetensors): a uint64
// length, a JSON object that maps names to dtype, shape and offsets, the bytes.

// maxTensorHeader is the limit of the reference implementation.
const maxTensorHeader = 100_000_000

type tensor struct {
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

func (t *tensor) kind() (kind, bool) {
	switch t.DType {
	case "F16":
		return f16, true
	case "BF16":
		return bf16, true
	case "F32":
		return f32, true
	case "F64":
		return f64, true
	case "I8":
		return i8, true
	case "U8":
		return u8, true
	}
	return 0, false
}

func openSafeTensors(src *source, opt Options) (Reader, error) {
	tensors, headerLen, err := readTensorHeader(src)
	if err != nil {
		return nil, err
	}
	end := int64(0)
	for _, t := range tensors {
		end = max(end, t.Offsets[1])
	}
	if have := src.size - headerLen; src.size >= 0 && end != have {
		return nil, fail(src.name, "the header announces %d bytes of tensors, %d are there: %w", end, have, cutShort(io.EOF))
	}
	name, t, err := chooseTensor(src.name, tensors, opt)
	if err != nil {
		return nil, err
	}
	return openTensor(src, headerLen, name, t, opt)
}

func readTensorHeader(src *source) (map[string]tensor, int64, error) {
	var head [8]byte
	if _, err := io.ReadFull(src.r, head[:]); err != nil {
		return nil, 0, fail(src.name, "header: %w", cutShort(err))
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > maxTensorHeader {
		return nil, 0, fail(src.name, "safetensors header of %d bytes exceeds the limit of %d", n, maxTensorHeader)
	}
	if b := src.budget; int64(n) > b.header() {
		return nil, 0, fail(src.name, "%w", b.exceeds(b.header(), "safetensors header of %d bytes, at most %d", n, b.header()))
	}
	text, err := readGrowing(src.r, nil, int64(n))
	if err != nil {
		return nil, 0, fail(src.name, "header: %w", cutShort(err))
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, 0, fail(src.name, "safetensors header: %w", err)
	}
	if err := src.budget.checkColumns(int64(len(raw))); err != nil {
		return nil, 0, fail(src.name, "safetensors header: %w", err)
	}
	delete(raw, "__metadata__")
	tensors := make(map[string]tensor, len(raw))
	for name, b := range raw {
		var t tensor
		if err := json.Unmarshal(b, &t); err != nil {
			return nil, 0, fail(src.name+":"+name, "safetensors header: %w", err)
		}
		if t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] {
			return nil, 0, fail(src.name+":"+name, "offsets %v are not a range", t.Offsets)
		}
		tensors[name] = t
	}
	if len(tensors) == 0 {
		return nil, 0, fail(src.name, "safetensors holds no tensors")
	}
	return tensors, int64(len(head)) + int64(n), nil
}

// chooseTensor follows the rules of chooseNPZ.
func chooseTensor(file string, tensors map[string]tensor, opt Options) (string, tensor, error) {
	name := opt.Column
	var all []string
	var byDims [3][]string
	for key, t := range tensors {
		all = append(all, key)
		if _, ok := t.kind(); ok && len(t.Shape) <= 2 {
			byDims[len(t.Shape)] = append(byDims[len(t.Shape)], key)
		}
	}
	if name != "" {
		t, ok := tensors[name]
		if !ok {
			return "", tensor{}, fail(file, "no tensor %q; the file holds %s", name, listed(all))
		}
		return name, t, nil
	}
	found := byDims[2]
	if len(found) == 0 {
		found = byDims[1]
	}
	switch len(found) {
	case 1:
		return found[0], tensors[found[0]], located(file, -1, refuseFound(found[0], found[0], found, opt.words().Column))
	case 0:
		return "", tensor{}, fail(file, "no tensor is a matrix of a supported dtype; the file holds %s", listed(all))
	}
	return "", tensor{}, fail(file, "several tensors could be the vectors, %s names one: %s", opt.words().Column, listed(found))
}

// openTensor expects src at base, the first byte of the tensors.
func openTensor(src *source, base int64, name string, t tensor, opt Options) (Reader, error) {
	full := src.name + ":" + name
	k, ok := t.kind()
	if !ok {
		return nil, fail(full, "dtype %q is not supported (F16, BF16, F32, F64, I8 and U8 are)", t.DType)
	}
	h := npyHeader{shape: t.Shape}
	rows, dim, err := h.matrix(opt.OneRow)
	if err != nil {
		return nil, fail(full, "%w", err)
	}
	if err := src.budget.checkShape(full, rows, dim); err != nil {
		return nil, err
	}
	if err := checkSize(full, rows, dim, k.size(), t.Offsets[1]-t.Offsets[0]); err != nil {
		return nil, err
	}
	d := &dense{name: full, shut: src, kind: k, dim: int(dim), rows: rows, backed: src.size >= 0}
	length := t.Offsets[1] - t.Offsets[0]
	if src.at != nil {
		d.r = io.NewSectionReader(src.at, base+t.Offsets[0], length)
		return newDense(d, opt)
	}
	if _, err := io.CopyN(io.Discard, src.r, t.Offsets[0]); err != nil {
		return nil, fail(full, "%w", cutShort(err))
	}
	d.r = io.LimitReader(src.r, length)
	return newDense(d, opt)
}
