package worker

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unsafe"

	"thresher/dataset"
)

// dtype is the type of an array's elements, in numpy's words or the name of a record.
type dtype string

const (
	float32s dtype = "<f4"
	float64s dtype = "<f8"
	int32s   dtype = "<i4"
	int64s   dtype = "<i8"
	uint64s  dtype = "<u8"
	bytes8   dtype = "|u1"
	bools    dtype = "|b1"
	halves   dtype = "<f2"
	signed8  dtype = "|i1"
	upper16  dtype = "bfloat16" // for which numpy has no name of its own
)

// rowTypes are the types that vectors may have. Queries have the first or, of vectors of float64, either of the first two.
var rowTypes = []dtype{float32s, float64s, halves, upper16, signed8, bytes8}

// queryTypes are the types that queries, and other rows that are compared with vectors of a type, may have.
func queryTypes(elem dataset.Elem) []dtype {
	if elem == dataset.ElemFloat64 {
		return rowTypes[:2]
	}
	return rowTypes[:1]
}

// rowElems are what collections call the rowTypes.
var rowElems = map[dtype]dataset.Elem{
	float32s: dataset.ElemFloat32, float64s: dataset.ElemFloat64, halves: dataset.ElemFloat16, upper16: dataset.ElemBFloat16,
	signed8: dataset.ElemInt8, bytes8: dataset.ElemUint8,
}

// sizes are the bytes of an element.
var sizes = map[dtype]int64{
	float32s: 4, float64s: 8, int32s: 4, int64s: 8, uint64s: 8, bytes8: 1, bools: 1, halves: 2, upper16: 2, signed8: 1,
	certificates: certificateBytes, looks: lookBytes,
}

// element is the Go type of an array's elements.
type element interface {
	~float32 | ~float64 | ~int32 | ~int64 | ~uint64 | ~uint8
}

// elements returns b as a slice of elements; b is aligned.
func elements[T element](b []byte) []T {
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(z)))
}

// bytesOf returns the bytes of s.
func bytesOf[T element](s []T) []byte {
	var z T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(z)))
}

// Where an array lies.
const (
	inBody    = "body"
	inSegment = "segment"
	inFile    = "file"
)

// descriptor describes an array in a header.
type descriptor struct {
	Name       string  `json:"name"`
	DType      dtype   `json:"dtype"`
	Shape      []int64 `json:"shape"`
	At         string  `json:"at"`
	Segment    int64   `json:"segment,omitempty"`
	Offset     int64   `json:"offset"`
	Descriptor *int    `json:"descriptor,omitempty"`
	Path       string  `json:"path,omitempty"`
}

// bytes returns the size of the array.
func (d *descriptor) bytes() (int64, error) {
	n, known := sizes[d.DType]
	if !known {
		return 0, wrong(d.Name, "dtype %q is none of this protocol", string(d.DType))
	}
	if len(d.Shape) < 1 || len(d.Shape) > 2 {
		return 0, wrong(d.Name, "%d dimensions; one or two are wanted", len(d.Shape))
	}
	for _, x := range d.Shape {
		if x < 0 || x > 0 && n > maxBodyBytes/x {
			return 0, wrong(d.Name, "shape %v of %s is not possible", d.Shape, d.DType)
		}
		n *= x
	}
	return n, nil
}

// array is an argument of a call.
type array struct {
	descriptor
	data []byte   // nil until a file is read
	file *os.File // of an array in a file, which the call's frame owns
	held *region  // that data is part of, or nil; the call releases it
}

// locate finds the array's bytes, except those in a file, and checks that all of them are there.
func (s *Child) locate(d descriptor, f *frame) (*array, error) {
	n, err := d.bytes()
	if err != nil {
		return nil, err
	}
	a := &array{descriptor: d}
	if d.Offset < 0 {
		return nil, wrong(d.Name, "offset %d", d.Offset)
	}
	if d.At != inFile && (d.Descriptor != nil || d.Path != "") || d.At != inSegment && d.Segment != 0 {
		return nil, wrong(d.Name, "segment, descriptor and path contradict that it is in the %s", d.At)
	}
	align := min(sizes[d.DType]&-sizes[d.DType], 8)
	var all []byte
	switch d.At {
	case inBody:
		all, align = f.body, 8
	case inSegment:
		if a.held = s.segments.hold(d.Segment); a.held == nil {
			return nil, wrong(d.Name, "there is no segment %d", d.Segment)
		}
		all = a.held.data
	case inFile:
		a.file, err = d.open(f)
		return a, err
	default:
		return nil, wrong(d.Name, "it is at %q, which is none of %s, %s and %s", d.At, inBody, inSegment, inFile)
	}
	switch {
	case d.Offset%align != 0:
		err = wrong(d.Name, "offset %d is no multiple of %d", d.Offset, align)
	case d.Offset > int64(len(all)) || n > int64(len(all))-d.Offset:
		err = wrong(d.Name, "%d bytes at %d of a %s of %d", n, d.Offset, d.At, len(all)).within(len(all))
	default:
		a.data = all[d.Offset : d.Offset+n : d.Offset+n]
		return a, nil
	}
	a.held.release()
	return nil, err
}

// open returns the array's file, which belongs to the frame.
func (d *descriptor) open(f *frame) (*os.File, error) {
	switch {
	case (d.Descriptor == nil) == (d.Path == ""):
		return nil, wrong(d.Name, "a descriptor or a path, and not both, names its file")
	case d.Offset%sizes[d.DType] != 0 && d.Offset%8 != 0:
		return nil, wrong(d.Name, "offset %d is no multiple of %d", d.Offset, sizes[d.DType])
	case d.Descriptor == nil:
		return f.open(d.Name, d.Path)
	case *d.Descriptor < 0 || *d.Descriptor >= len(f.files):
		return nil, wrong(d.Name, "descriptor %d of %d", *d.Descriptor, len(f.files))
	}
	return f.files[*d.Descriptor], nil
}

// checkPath returns an error unless path is that of a regular file: opening anything else could
// block.
func checkPath(path string) error {
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("is no regular file")}
	}
	return err
}

// open opens a regular file; f closes it.
func (f *frame) open(argument, path string) (*os.File, error) {
	err := checkPath(path)
	var file *os.File
	if err == nil {
		file, err = os.Open(path)
	}
	if err != nil {
		return nil, &failure{Kind: badFile, Argument: argument, Message: err.Error()}
	}
	f.files = append(f.files, file)
	return file, nil
}

// share returns the bytes, of a file by mapping it, and the region to hold while they are used;
// nil if they are not in one.
func (a *array) share() ([]byte, *region, error) {
	if a.file == nil || a.data != nil {
		return a.data, a.held, nil
	}
	n, err := a.bytes()
	if err != nil {
		return nil, nil, err
	}
	a.held, a.data, err = mapRegular(a.file, a.Name, a.Offset, n)
	return a.data, a.held, err
}

// read returns the bytes, of a file that can shrink by copying them.
func (a *array) read() ([]byte, error) {
	if a.file == nil || a.data != nil {
		return a.data, nil
	}
	if a.Descriptor != nil && isSealed(a.file) {
		b, _, err := a.share()
		return b, err
	}
	n, err := a.bytes()
	if err != nil {
		return nil, err
	}
	if err := checkRegular(a.file, a.Name, a.Offset, n); err != nil {
		return nil, err
	}
	if a.data, err = readGrowing(io.NewSectionReader(a.file, a.Offset, n), n); err != nil {
		return nil, &failure{Kind: badFile, Argument: a.Name, Message: fmt.Sprintf("reading %d bytes at %d: %v", n, a.Offset, cutShort(err))}
	}
	return a.data, nil
}

// arguments are the arrays of a call.
type arguments struct {
	arrays []*array
	taken  []string // names that the operation knows
}

// get returns the array of this name if its type is one of those wanted, nil if there is none.
func (s *arguments) get(name string, types ...dtype) (*array, error) {
	s.taken = append(s.taken, name)
	for _, a := range s.arrays {
		if a.Name != name {
			continue
		}
		if !slices.Contains(types, a.DType) {
			return nil, wrong(name, "dtype %s; %s is wanted", a.DType, alternatives(types))
		}
		return a, nil
	}
	return nil, nil
}

func alternatives(types []dtype) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, " or ")
}

// matrix returns the array of this name, which has two dimensions.
func (s *arguments) matrix(name string, types ...dtype) (*array, error) {
	a, err := s.get(name, types...)
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return nil, wrong(name, "is missing")
	case len(a.Shape) != 2:
		return nil, wrong(name, "shape %v; a matrix is wanted", a.Shape)
	}
	return a, nil
}

// floats returns the elements of a, a matrix of float32 or float64, in their own type; the other is nil.
func (a *array) floats() (narrow []float32, wide []float64, err error) {
	b, err := a.read()
	if err != nil {
		return nil, nil, err
	}
	if size := int(sizes[a.DType]); !isAligned(b, size) {
		return nil, nil, wrong(a.Name, "offset %d: %v begin at multiples of %d bytes", a.Offset, rowElems[a.DType], size)
	}
	if a.DType == float64s {
		return nil, elements[float64](b), nil
	}
	return elements[float32](b), nil, nil
}

// vector returns the elements of an array of one dimension, n of them unless n is -1; nil if there
// is no such array.
func vector[T element](s *arguments, name string, n int, want dtype) ([]T, error) {
	a, err := s.get(name, want)
	if a == nil {
		return nil, err
	}
	if len(a.Shape) != 1 || n >= 0 && a.Shape[0] != int64(n) {
		if n < 0 {
			return nil, wrong(name, "shape %v; one dimension is wanted", a.Shape)
		}
		return nil, wrong(name, "shape %v; [%d] is wanted", a.Shape, n)
	}
	b, err := a.read()
	if err != nil {
		return nil, err
	}
	if b == nil {
		return []T{}, nil
	}
	return elements[T](b), nil
}

// rowNumbers is vector for row numbers of 32 or 64 bits.
func (s *arguments) rowNumbers(name string, n int) ([]int64, error) {
	a, err := s.get(name, int64s, int32s)
	if a == nil || err != nil {
		return nil, err
	}
	if a.DType == int64s {
		return vector[int64](s, name, n, int64s)
	}
	narrow, err := vector[int32](s, name, n, int32s)
	return widen(narrow), err
}

// integers returns a matrix of integers of 32 or 64 bits, and its shape.
func (s *arguments) integers(name string) (values []int64, rows, columns int, err error) {
	a, err := s.matrix(name, int64s, int32s)
	if err != nil {
		return nil, 0, 0, err
	}
	b, err := a.read()
	if err != nil {
		return nil, 0, 0, err
	}
	if a.DType == int32s {
		return widen(elements[int32](b)), int(a.Shape[0]), int(a.Shape[1]), nil
	}
	return elements[int64](b), int(a.Shape[0]), int(a.Shape[1]), nil
}

func widen(narrow []int32) []int64 {
	wide := make([]int64, len(narrow))
	for i, x := range narrow {
		wide[i] = int64(x)
	}
	return wide
}

// complete returns an error if there is an array that the operation does not know.
func (s *arguments) complete() error {
	for _, a := range s.arrays {
		if !slices.Contains(s.taken, a.Name) {
			return wrong(a.Name, "the operation takes no such array").within(s.taken)
		}
	}
	return nil
}

// release ends the use of the arrays.
func (s *arguments) release() {
	for _, a := range s.arrays {
		a.held.release()
		a.held, a.data = nil, nil
	}
}
