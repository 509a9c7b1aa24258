package columns

import (
	"fmt"
	"math"
	"sort"

	"thresher/dataset"
)

// cut is where a literal lies among the keys of a column: floor is the greatest key that is not above it, ceil the least
// that is not below. They are the same if the literal is a key.
type cut[K key] struct {
	floor, ceil       K
	noFloor, noCeil   bool
	beforeLo, afterHi K // the keys next to floor and ceil if these are the literal
	noBefore, noAfter bool
}

// exact reports whether the literal is a key.
func (c *cut[K]) exact() bool { return !c.noFloor && !c.noCeil && c.floor == c.ceil }

// upTo returns the keys below the literal, and itself if equal is wanted; lowest is the least key.
func (c *cut[K]) upTo(lowest K, equal bool) []span[K] {
	switch {
	case c.noFloor:
		return nil
	case equal || !c.exact():
		return []span[K]{{lowest, c.floor}}
	case c.noBefore:
		return nil
	}
	return []span[K]{{lowest, c.beforeLo}}
}

// from returns the keys above the literal, and itself if equal is wanted; highest is the greatest key.
func (c *cut[K]) from(highest K, equal bool) []span[K] {
	switch {
	case c.noCeil:
		return nil
	case equal || !c.exact():
		return []span[K]{{c.ceil, highest}}
	case c.noAfter:
		return nil
	}
	return []span[K]{{c.afterHi, highest}}
}

// spansOf returns the keys for which a comparison is true, negated or not; cuts are those of its values.
func spansOf[K key](op operator, cuts []cut[K], lowest, highest K) []span[K] {
	switch op {
	case less, atMost:
		return cuts[0].upTo(lowest, op == atMost)
	case greater, atLeast:
		return cuts[0].from(highest, op == atLeast)
	case between:
		if cuts[0].noCeil || cuts[1].noFloor || cuts[0].ceil > cuts[1].floor {
			return nil
		}
		return []span[K]{{cuts[0].ceil, cuts[1].floor}}
	}
	var spans []span[K]
	for i := range cuts {
		if c := &cuts[i]; c.exact() {
			spans = append(spans, span[K]{c.floor, c.floor})
		}
	}
	return merged(spans)
}

// integerCut is the cut of an integer that is followed by a fraction or not.
func integerCut(floor int64, fraction bool) cut[int64] {
	c := cut[int64]{floor: floor, ceil: floor, beforeLo: floor - 1, afterHi: floor + 1, noBefore: floor == math.MinInt64, noAfter: floor == math.MaxInt64}
	if fraction {
		c.noCeil = floor == math.MaxInt64
		c.ceil = floor + 1
	}
	return c
}

// integerOf returns the cut of a literal among integers.
func integerOf(l *literal) (c cut[int64], err error) {
	switch {
	case l.kind == integerLiteral:
		return integerCut(l.integer, false), nil
	case l.kind != floatLiteral:
		return c, fmt.Errorf("with %s", l.kind)
	case l.float >= 1<<63:
		return cut[int64]{floor: math.MaxInt64, noCeil: true}, nil
	case l.float < -1<<63:
		return cut[int64]{ceil: math.MinInt64, noFloor: true}, nil
	}
	floor := math.Floor(l.float)
	return integerCut(int64(floor), floor != l.float), nil
}

// boolOf returns the cut of a literal among bools.
func boolOf(l *literal) (c cut[int64], err error) {
	if l.kind != boolLiteral {
		return c, fmt.Errorf("with %s", l.kind)
	}
	return integerCut(l.integer, false), nil
}

// timeOf returns the cut of a literal among times.
func timeOf(l *literal) (c cut[int64], err error) {
	if l.kind != textLiteral {
		return c, fmt.Errorf("with %s; a time is a text of RFC 3339, such as '2024-05-01' or '2024-05-01T12:00:00Z'", l.kind)
	}
	at, exact, ok := dataset.ParseTime(l.text, true)
	if !ok {
		return c, fmt.Errorf("with '%.60s', which is no time of RFC 3339, such as '2024-05-01' or '2024-05-01T12:00:00Z'", l.text)
	}
	return integerCut(at, !exact), nil
}

// floatOf returns the cut of a literal among float64, or among float32, to which it is rounded, for a file that has
// 0.1 as float32 means that number.
func floatOf(l *literal, single bool) (c cut[float64], err error) {
	x := l.float
	switch l.kind {
	case floatLiteral:
	case integerLiteral:
		x = float64(l.integer)
		if x >= 1<<63 || int64(x) != l.integer {
			return c, fmt.Errorf("with %d, which is no float64; the nearest is %.0f", l.integer, x)
		}
	default:
		return c, fmt.Errorf("with %s", l.kind)
	}
	if single {
		x = float64(float32(x))
	}
	return cut[float64]{floor: x, ceil: x, beforeLo: math.Nextafter(x, math.Inf(-1)), afterHi: math.Nextafter(x, math.Inf(1)), noBefore: math.IsInf(x, -1), noAfter: math.IsInf(x, 1)}, nil
}

// textOf returns the cut of a literal among the texts of the column.
func (c *Column) textOf(l *literal) (at cut[uint32], err error) {
	if l.kind != textLiteral {
		return at, fmt.Errorf("with %s; a text stands in quotes", l.kind)
	}
	n := len(c.dictionary)
	i := sort.SearchStrings(c.dictionary, l.text)
	if i < n && c.dictionary[i] == l.text {
		return cut[uint32]{floor: uint32(i), ceil: uint32(i), beforeLo: uint32(i - 1), afterHi: uint32(i + 1), noBefore: i == 0, noAfter: i == n-1}, nil
	}
	return cut[uint32]{floor: uint32(i - 1), ceil: uint32(i), noFloor: i == 0, noCeil: i == n}, nil
}
