package worker

import (
	"encoding/binary"
	"math"
	"slices"

	"thresher/batch"
)

// Records, as dtypes.
const (
	certificates dtype = "certificate"
	looks        dtype = "look"
)

// Bytes of a record.
const (
	certificateBytes = 120
	lookBytes        = 40
)

// layouts are numpy's descr of the records, for hello. The first four columns of a certificate are
// indexes of lists of hello, plan and backend of lists of the reply, reads and rule of its words;
// -1 is none. NaN stands for what a certificate lacks.
func layouts() map[dtype][][2]string {
	return map[dtype][][2]string{
		certificates: {
			{"method", "<i2"}, {"guarantee", "<i2"}, {"law", "<i2"}, {"stopped_by", "<i2"}, {"plan", "<i2"}, {"backend", "<i2"},
			{"exact", "|b1"}, {"threshold_before", "|b1"}, {"dense", "|b1"}, {"reserved", "|u1"}, {"candidates_given", "<i4"}, {"candidates_right", "<i4"},
			{"delta", "<f8"}, {"epsilon", "<f8"}, {"threshold", "<f8"}, {"open_bound", "<f8"}, {"predicted_survivors", "<f8"}, {"predicted_ns", "<f8"},
			{"pulls", "<i8"}, {"dense_pulls", "<i8"}, {"bytes", "<i8"}, {"rows_scored", "<i8"},
			{"vectors_change", "<f8"}, {"query_change", "<f8"},
		},
		looks: {
			{"reads", "<i2"}, {"rule", "<i2"}, {"width", "<i4"}, {"alpha", "<f8"}, {"seen", "<i8"}, {"beside", "<i8"}, {"survivors", "<i8"},
		},
	}
}

func stops() []batch.Stop { return []batch.Stop{batch.Done, batch.Deadline, batch.Cancelled} }

// place returns the index of x as a column of a record has it.
func place[T comparable](all []T, x T) uint16 { return uint16(slices.Index(all, x)) }

// named returns the text at an index of a record; "" for none.
func named[T ~string](all []T, index []byte) T {
	if i := int(int16(order.Uint16(index))); i >= 0 && i < len(all) {
		return all[i]
	}
	return ""
}

// maxWords is how many texts have numbers. Further ones are not named.
const maxWords = math.MaxInt16

// words numbers texts in the order of their first use.
type words struct {
	list   []string
	number map[string]int
}

func (w *words) index(s string) uint16 {
	if s == "" {
		return math.MaxUint16 // -1
	}
	i, known := w.number[s]
	if !known {
		if len(w.list) == maxWords {
			return math.MaxUint16
		}
		if w.number == nil {
			w.number = map[string]int{}
		}
		i = len(w.list)
		w.number[s] = i
		w.list = append(w.list, s)
	}
	return uint16(i)
}

// tables are the lists of a reply that its records refer to.
type tables struct {
	methods    []batch.Method
	guarantees []batch.Guarantee
	laws       []batch.Law
	stops      []batch.Stop

	plans, backends words
	looks           words
}

func newTables() *tables {
	return &tables{methods: batch.Methods(), guarantees: batch.Guarantees(), laws: batch.Laws(), stops: stops()}
}

var order = binary.LittleEndian

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func float(x *float64) uint64 {
	if x == nil {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(*x)
}

// appendCertificate appends c as a record.
func (t *tables) appendCertificate(b []byte, c *batch.Certificate) []byte {
	for _, i := range [...]uint16{place(t.methods, c.Method), place(t.guarantees, c.Guarantee), place(t.laws, c.Law), place(t.stops, c.StoppedBy),
		t.plans.index(c.Plan), t.backends.index(c.Backend)} {
		b = order.AppendUint16(b, i)
	}
	given, right := int32(-1), int32(-1)
	if c.Candidates != nil {
		given, right = int32(c.Candidates.Given), int32(c.Candidates.Right)
	}
	b = append(b, flag(c.Exact), flag(c.ThresholdBefore), flag(c.Fallback != ""), 0)
	b = order.AppendUint32(order.AppendUint32(b, uint32(given)), uint32(right))
	for _, x := range [...]uint64{
		math.Float64bits(c.Delta), math.Float64bits(c.Epsilon), float(c.Threshold), float(c.OpenBound), math.Float64bits(c.Predicted), math.Float64bits(c.PredictedCost),
		uint64(c.Pulls), uint64(c.DensePulls), uint64(c.Bytes), uint64(c.RowsScored),
		math.Float64bits(c.VectorsChange), math.Float64bits(c.QueryChange),
	} {
		b = order.AppendUint64(b, x)
	}
	return b
}

// readCertificate reads what verify needs of a record.
func readCertificate(b []byte) batch.Certificate {
	number := func(at int) *float64 {
		x := math.Float64frombits(order.Uint64(b[at:]))
		if math.IsNaN(x) {
			return nil
		}
		return &x
	}
	c := batch.Certificate{
		Method: named(batch.Methods(), b), Guarantee: named(batch.Guarantees(), b[2:]), Law: named(batch.Laws(), b[4:]), StoppedBy: named(stops(), b[6:]),
		Exact: b[12] != 0, Delta: notKnown, Epsilon: notKnown, Threshold: number(40), OpenBound: number(48),
	}
	if x := number(104); x != nil {
		c.VectorsChange = *x
	}
	if x := number(112); x != nil {
		c.QueryChange = *x
	}
	if x := number(24); x != nil {
		c.Delta = *x
	}
	if x := number(32); x != nil {
		c.Epsilon = *x
	}
	return c
}

// appendLook appends l as a record.
func (t *tables) appendLook(b []byte, l *batch.LookRecord) []byte {
	b = order.AppendUint16(order.AppendUint16(b, t.looks.index(l.Reads)), t.looks.index(l.Rule))
	b = order.AppendUint32(b, uint32(l.Width))
	for _, x := range [...]uint64{math.Float64bits(l.Alpha), uint64(l.Seen), uint64(l.Disallowed), uint64(l.Survivors)} {
		b = order.AppendUint64(b, x)
	}
	return b
}
