package corpus

import (
	"cmp"
	"slices"
)

// pairShare is the weight of a pair of neighbouring words relative to a word, small because
// its words are terms already.
const pairShare = .25

// term is one term of a text: the hash of a word or of a pair of neighbouring words, and its
// number of occurrences.
type term struct {
	hash  uint64
	count float64
	pair  bool
}

// entryTerms returns the terms of package, name and text together.
func entryTerms(e Entry) []term {
	var b bag
	b.add(e.Package)
	b.add(e.Name)
	b.add(e.Text)
	return b.fold()
}

// bag collects the terms of a text.
type bag struct{ terms []term }

// add adds the words of text, and the pairs of words that are neighbours once stop words are
// left out.
func (b *bag) add(text string) {
	var before uint64
	words(text, func(word string) {
		if stop(word) {
			return
		}
		h := hash(stem(word))
		b.terms = append(b.terms, term{hash: h, count: 1})
		if before != 0 {
			b.terms = append(b.terms, term{hash: mix(before*3 + h), count: 1, pair: true})
		}
		before = h
	})
}

// fold sorts the terms by hash and merges equal ones.
func (b *bag) fold() []term {
	slices.SortFunc(b.terms, func(x, y term) int { return cmp.Compare(x.hash, y.hash) })
	out := b.terms[:0]
	for _, t := range b.terms {
		if n := len(out); n > 0 && out[n-1].hash == t.hash {
			out[n-1].count += t.count
			continue
		}
		out = append(out, t)
	}
	return out
}

// hash is 64-bit FNV-1a followed by mix, because FNV's low bits alone are uneven.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return mix(h)
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
