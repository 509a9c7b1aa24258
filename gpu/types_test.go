//go:build cuda && cgo

package gpu

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"thresher/backend/looks"
	"thresher/gpu/device"
)

// TestLayout compares the structures of types.go with the device's: sizes and
// the offset of every field.
func TestLayout(t *testing.T) {
	var want []uint32
	for _, s := range []any{query{}, strip{}, looks.Side{}, terms{}, lists{}, mixing{}, report{}} {
		of := reflect.TypeOf(s)
		want = append(want, uint32(of.Size()))
		for i := range of.NumField() {
			if f := of.Field(i); f.Name != "_" {
				want = append(want, uint32(f.Offset))
			}
		}
	}
	m := testMachine(t, Options{})
	got := make([]uint32, 256)
	err := m.do(t.Context(), func(q *queue) error {
		b, err := device.Alloc[uint32](q.t, "layout", len(got))
		if err != nil {
			return err
		}
		defer b.Free(q.t)
		q.layout(device.Shape{Grid: device.Dim{X: 1}, Block: device.Dim{X: 32}}, layoutArgs{out: device.Ptr(b), room: uint32(len(got))})
		if q.err != nil {
			return q.err
		}
		return b.Download(q.t, got, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	n := int(got[0])
	if n >= len(got) {
		t.Fatalf("%d numbers", n)
	}
	if !slices.Equal(got[1:1+n], want) {
		t.Errorf("the device has\n%d, Go has\n%d", got[1:1+n], want)
	}
	if unsafe.Alignof(query{}) < 8 {
		t.Error("queries are not aligned to 8 bytes")
	}
}
