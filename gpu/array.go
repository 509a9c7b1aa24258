//go:build cuda && cgo

package gpu

import "thresher/gpu/device"

// array is an array of T in a batch's memory: its offset in bytes.
type array[T any] int

// at returns the offset, in bytes, of element n.
func (a array[T]) at(n int) int { return int(a) + n*int(device.Size[T]()) }

// arrayLayout assigns offsets, multiples of 256 bytes, to arrays in one allocation; its value is the
// end of the last.
type arrayLayout int

// place assigns an offset to an array of n elements.
func place[T any](c *arrayLayout, n int) array[T] {
	a := array[T](*c)
	*c = arrayLayout((a.at(n) + 255) &^ 255)
	return a
}

// arrayOf points to an array of all queries of a batch.
func arrayOf[T any](b *queryBatch, a array[T]) device.Pointer[T] {
	return device.View[T](b.mem, int(a))
}

// partOf points to the part of an array that belongs to a chunk's queries; each has so many elements.
func partOf[T any](qs *queryChunk, a array[T], each int) device.Pointer[T] {
	return device.View[T](qs.b.mem, a.at(qs.lo*each))
}

// states points to the states of the chunk's queries.
func (qs *queryChunk) states() device.Pointer[query] { return partOf(qs, qs.b.at.states, 1) }

// begins points to the shares that lists were last divided into. They are used at once, so the chunks of
// a batch have the same memory.
func (qs *queryChunk) begins() device.Pointer[uint32] { return arrayOf(qs.b, qs.b.at.begins) }

// orNull passes a buffer, or a null pointer if it is nil.
func orNull[T any](b *device.Buffer[T]) device.Pointer[T] {
	if b == nil {
		return device.Pointer[T]{}
	}
	return device.Ptr(b)
}
