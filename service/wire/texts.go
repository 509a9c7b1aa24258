package wire

import (
	"unicode/utf8"

	"thresher/dataset/jsonscan"
	"thresher/service/problem"
)

const fieldTexts = "texts"

// maxText bounds a text in a search, in characters.
const maxText = 4096

// Encoder returns the vector of a text in the space of a collection, of finite values, or nil
// for a text without known words.
type Encoder func(text string) []float32

// texts reads queries from an array of texts at b[i].
func (d *Draft) texts(b []byte, i int, encode Encoder) (next int, err error) {
	if err := d.markSeen(fieldTexts); err != nil {
		return i, err
	}
	if encode == nil {
		return i, problem.New(problem.InvalidValue, "this collection was not made of texts: send queries, vectors of %d values", d.s.Dim).In(fieldTexts)
	}
	if err := d.markSeen(fieldQueries); err != nil {
		return i, problem.New(problem.InvalidValue, "there are queries and texts").In(fieldTexts)
	}
	if !starts(b, i, '[') {
		return i, mistyped(fieldTexts, b, i, "an array of strings")
	}
	return jsonscan.Elements(b, i, func(n, at int) (int, error) {
		if most := d.limits.Queries; most > 0 && n == most {
			return at, problem.New(problem.OverLimit, "more than %d texts, the limit of a search", most).In(fieldTexts).Within(most)
		}
		if !starts(b, at, '"') {
			return at, element(mistyped(fieldTexts, b, at, "a string"), fieldTexts, n)
		}
		s, next, err := text(b, at)
		if err != nil {
			return next, element(err, fieldTexts, n)
		}
		if length := utf8.RuneCountInString(s); length > maxText {
			return at, problem.New(problem.InvalidValue, "texts[%d] has %d characters, at most %d", n, length, maxText).At(fieldTexts, n).Within(maxText)
		}
		vector := encode(s)
		if vector == nil {
			return at, problem.New(problem.UnknownWords, "texts[%d]: the collection has none of the words of %q", n, cut(s)).At(fieldTexts, n)
		}
		d.s.Queries = append(d.s.Queries, vector...)
		return next, nil
	})
}
