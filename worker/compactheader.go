package worker

import (
	"encoding/json"
	"math"
	"slices"

	"thresher/batch"
)

// compactSearch is the first byte of a compact header: that of a search, or of the reply to one. A JSON
// object begins with another one.
const compactSearch = 1

// Bytes of compact headers: of a search without its arrays, of each array, and of a reply without its words.
const (
	compactBytes      = 56
	compactArrayBytes = 40
	compactReplyBytes = 48
)

// places are where arrays of a compact header can lie, by the number that says so.
var places = [...]string{inBody, inSegment}

// What numbers in compact headers stand for: names and types of a search's arrays, and its method.
var (
	arrayNames = []string{"queries", "changes", "ks", "floors", "ceilings", "exclude_lims", "exclude", "candidates_lims", "candidates", "filter", "mask", "exclude_all", "filter_lims", "filter_of"}
	arrayTypes = []dtype{float32s, float64s, int32s, int64s, bools}
	methods    = batch.Methods()
)

// readCompact decodes the compact header of a search:
//
//	0  u8 compactSearch, u8 method, u8 arrays, u8 1 for progress, u32 0
//	8  i64 id, i64 handle, i64 k, f64 delta, f64 epsilon, f64 deadline_ms
//	56 of each array: u8 name, u8 dtype, u8 place, u8 dimensions, u32 0, i64 rows, i64 columns, i64 segment, i64 offset
//
// Methods are numbered as in hello, names and types as there in compact_arrays and compact_types.
func readCompact(b []byte) (r request, err error) {
	if len(b) < compactBytes || len(b) != compactBytes+compactArrayBytes*int(b[2]) {
		return r, violation("header: %d bytes of a compact search", len(b))
	}
	if int(b[1]) >= len(methods) || b[3] > 1 || order.Uint32(b[4:]) != 0 {
		return r, violation("header: method %d, progress %d, reserved %d of a compact search", b[1], b[3], order.Uint32(b[4:]))
	}
	number := func(at int) int64 { return int64(order.Uint64(b[at:])) }
	figure := func(at int) float64 { return math.Float64frombits(order.Uint64(b[at:])) }
	r = request{ID: number(8), Op: "search", DeadlineMS: figure(48), Progress: b[3] == 1,
		compact: &searching{Handle: number(16), K: int(number(24)), Method: methods[b[1]], Delta: figure(32), Epsilon: figure(40)}}
	r.Arrays = make([]descriptor, 0, b[2])
	shapes := make([]int64, 2*int(b[2]))
	for a := b[compactBytes:]; len(a) > 0; a = a[compactArrayBytes:] {
		if int(a[0]) >= len(arrayNames) || int(a[1]) >= len(arrayTypes) || int(a[2]) >= len(places) || a[3] < 1 || a[3] > 2 || order.Uint32(a[4:]) != 0 {
			return r, violation("header: an array described by %v", a[:8])
		}
		shape := shapes[:a[3]:a[3]]
		shapes = shapes[2:]
		for i := range shape {
			shape[i] = int64(order.Uint64(a[8+8*i:]))
		}
		r.Arrays = append(r.Arrays, descriptor{Name: arrayNames[a[0]], DType: arrayTypes[a[1]], At: places[a[2]], Shape: shape,
			Segment: int64(order.Uint64(a[24:])), Offset: int64(order.Uint64(a[32:]))})
	}
	return r, nil
}

// compactReply is the reply to a search whose header was compact.
type compactReply struct {
	searched
	queries int64
}

// append appends its header:
//
//	0  u8 compactSearch, u8 1 if all answers are complete, u16 0, u32 0
//	8  i64 id, i64 queries, i64 k, f64 took_ms, f64 saving
//	48 a JSON object with promise, warnings, plans and backends, and spaces up to a multiple of 8 bytes
//
// Its arrays are answerColumns, which lie as newReply places them.
func (x compactReply) append(b []byte, id int64) ([]byte, error) {
	words, err := json.Marshal(struct {
		Promise  string   `json:"promise"`
		Warnings []string `json:"warnings"`
		Plans    []string `json:"plans"`
		Backends []string `json:"backends"`
	}{x.Promise, x.Warnings, x.Plans, x.Backends})
	if err != nil {
		return nil, err
	}
	b = append(b, compactSearch, flag(x.Complete), 0, 0, 0, 0, 0, 0)
	for _, v := range [...]uint64{uint64(id), uint64(x.queries), uint64(x.K), math.Float64bits(x.TookMS), math.Float64bits(x.Saving)} {
		b = order.AppendUint64(b, v)
	}
	b = append(b, words...)
	return append(b, "       "[:-len(b)&7]...), nil
}

const (
	// promptWork is how many products of a query's and an atom's coordinates a call has at most that the reading
	// goroutine performs itself: a scan of them takes less than waking another thread twice.
	promptWork = 4 << 20
	// promptQueries bounds its queries, each of which costs more than its products.
	promptQueries = 64
)

// isPrompt reports whether a call takes so little time that others, and its cancellation, can wait for it.
func (c *call) isPrompt() bool {
	f := c.compact
	if f == nil || c.Progress || len(c.arrays) == 0 || !slices.Contains(promptMethods, f.Method) {
		return false
	}
	v, err := c.s.registry.hold(f.Handle)
	if err != nil {
		return true // an error
	}
	defer v.release()
	if v.changed() != nil {
		return false // the rows may have to be put in order
	}
	m := c.arrays[0].Shape[0]
	return m <= promptQueries && m*int64(v.N)*int64(v.Dim) <= promptWork && v.engine.Backend() == "cpu"
}

// promptMethods cost at most a scan of all atoms, and not much more than its products.
var promptMethods = []batch.Method{"", batch.Auto, batch.Exact, batch.Certain, batch.Adaptive}
