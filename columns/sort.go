package columns

import "math"

// place is a key whose order is that of unsigned integers, and its position.
type place struct {
	key uint64
	at  uint32
}

// digitBits is how many bits of keys a pass sorts by.
const digitBits = 11

// sort returns the positions of the keys that are valid, by ascending key and then by position: a radix sort, which
// leaves out digits that all keys share.
func (o *ordered[K]) sort() []uint32 {
	from := make([]place, 0, len(o.keys))
	var differ uint64
	for i, k := range o.keys {
		if o.owner == nil && !o.valid.Contains(uint32(i)) {
			continue
		}
		from = append(from, place{sortable(k), uint32(i)})
		differ |= from[0].key ^ from[len(from)-1].key
	}
	to := make([]place, len(from))
	for shift := 0; shift < 64 && differ>>shift != 0; shift += digitBits {
		if differ>>shift&(1<<digitBits-1) == 0 {
			continue
		}
		var starts [1<<digitBits + 1]int
		for _, p := range from {
			starts[p.key>>shift&(1<<digitBits-1)+1]++
		}
		for d := 1; d < len(starts); d++ {
			starts[d] += starts[d-1]
		}
		for _, p := range from {
			d := p.key >> shift & (1<<digitBits - 1)
			to[starts[d]] = p
			starts[d]++
		}
		from, to = to, from
	}
	index := make([]uint32, len(from))
	for i, p := range from {
		index[i] = p.at
	}
	return index
}

// sortable returns an unsigned integer that orders as the key does. Both zeros are one.
func sortable[K key](k K) uint64 {
	switch k := any(k).(type) {
	case int64:
		return uint64(k) ^ 1<<63
	case float64:
		bits := math.Float64bits(k + 0)
		if bits>>63 == 1 {
			return ^bits
		}
		return bits | 1<<63
	case uint32:
		return uint64(k)
	}
	return 0
}
