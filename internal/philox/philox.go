package philox

import "math/rand/v2"

// Multipliers and Weyl increments of Philox4x32 (SC 2011, section 3.3).
const (
	multiplier0 = 0xD2511F53
	multiplier1 = 0xCD9E8D57
	weyl0       = 0x9E3779B9
	weyl1       = 0xBB67AE85
	rounds      = 10
)

// mix is the bijection: it maps a 128-bit counter, words least significant first, to 128
// random bits under a 64-bit key. All words are scalars in registers: arrays would go through
// memory, which takes as long as the rounds.
func mix(c0, c1, c2, c3, k0, k1 uint32) (even, odd uint64) {
	for range rounds {
		p0 := uint64(multiplier0) * uint64(c0)
		p1 := uint64(multiplier1) * uint64(c2)
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += weyl0
		k1 += weyl1
	}
	return uint64(c1)<<32 | uint64(c0), uint64(c3)<<32 | uint64(c2)
}

// Source is one stream of a seed: 2^64 numbers of 64 bits, read in sequence or by their place.
// The seed is the key of Philox, the stream the upper half of its counter; numbers 2b and 2b+1
// are the halves of block b.
//
// At and Pair may be called concurrently; Uint64 and Seek move the source and need exclusive
// access.
type Source struct {
	key    [2]uint32
	stream [2]uint32
	place  uint64 // of the next number Uint64 returns
	odd    uint64 // second half of the block last begun
	cached bool   // place is odd and odd is its number
}

var _ rand.Source = (*Source)(nil)

// New returns the source of a stream, at place 0. Different pairs (seed, stream) are different streams.
func New(seed, stream uint64) *Source {
	return &Source{
		key:    [2]uint32{uint32(seed), uint32(seed >> 32)},
		stream: [2]uint32{uint32(stream), uint32(stream >> 32)},
	}
}

// Uint64 returns the next number. It makes Source a rand.Source, so that
// rand.New(source) offers IntN, Perm, NormFloat64 and the rest.
func (s *Source) Uint64() uint64 {
	here := s.place
	s.place++
	if s.cached {
		s.cached = false
		return s.odd
	}
	even, odd := s.Pair(here >> 1)
	if here&1 == 1 {
		return odd
	}
	s.odd, s.cached = odd, true
	return even
}

// Seek moves the source so that the next Uint64 returns At(place).
func (s *Source) Seek(place uint64) {
	s.place, s.cached = place, false
}

// Place returns the place of the next number that Uint64 returns.
func (s *Source) Place() uint64 { return s.place }

// At returns the number at a place of the stream without moving the source.
func (s *Source) At(place uint64) uint64 {
	even, odd := s.Pair(place >> 1)
	if place&1 == 1 {
		return odd
	}
	return even
}

// Pair returns At(2*block) and At(2*block+1) at the cost of one. block is below 2^63: its top
// bit would name places that do not exist.
func (s *Source) Pair(block uint64) (even, odd uint64) {
	return mix(uint32(block), uint32(block>>32), s.stream[0], s.stream[1], s.key[0], s.key[1])
}
