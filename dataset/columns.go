package dataset

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What columns mean is never guessed. The coordinates of vectors in columns of their own are the
// columns that are named, in words or by a pattern; or else all columns of numbers, if they are one
// family of numbered names (d0, d1, ..), or if no name is numbered and none names rows.

// pickColumns returns the columns that wanted selects: the column of exactly this name, or those
// of a list of names and patterns, separated by commas. A pattern (path.Match) selects in the
// order of the file. listed says that there was no pattern, so that the order is the user's own.
func pickColumns(names []string, wanted string) (at []int, listed bool, err error) {
	if i := slices.Index(names, wanted); i >= 0 {
		return []int{i}, true, oneOf(names, wanted)
	}
	listed = true
	for part := range strings.SplitSeq(wanted, ",") {
		part = strings.TrimSpace(part)
		if i := slices.Index(names, part); i >= 0 {
			if err := oneOf(names, part); err != nil {
				return nil, false, err
			}
			at = append(at, i)
			continue
		}
		matched, err := matchColumns(names, part)
		if err != nil {
			return nil, false, err
		}
		at, listed = append(at, matched...), false
	}
	return at, listed, twice(names, at)
}

// matchColumns returns the columns that a pattern selects.
func matchColumns(names []string, pattern string) (at []int, err error) {
	for i, name := range names {
		ok, err := path.Match(pattern, name)
		if err != nil {
			return nil, fmt.Errorf("column %q: the pattern is malformed", pattern)
		}
		if ok {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return nil, fmt.Errorf("no column %q; the file has %s", pattern, listed(slices.Clone(names)))
	}
	return at, nil
}

// errOneName is why oneOf refuses.
var errOneName = errors.New("columns are called")

// oneOf refuses a name that several columns have.
func oneOf(names []string, name string) error {
	count := 0
	for _, other := range names {
		if other == name {
			count++
		}
	}
	if count > 1 {
		return fmt.Errorf("%d %w %q", count, errOneName, name)
	}
	return nil
}

// twice refuses a choice that has a column twice, or two columns of one name.
func twice(names []string, at []int) error {
	seen := make(map[string]bool, len(at))
	for _, i := range at {
		if seen[names[i]] {
			return fmt.Errorf("two of the columns of the vector are called %q", names[i])
		}
		seen[names[i]] = true
	}
	return nil
}

var digits = regexp.MustCompile(`[0-9]+`)

// family returns a column's name without its numbers, by which columns of one vector are told
// from others: that of d12 is d#. numbered is false for a name without a number.
func family(name string) (stem string, numbered bool) {
	stem = digits.ReplaceAllString(name, "#")
	return stem, stem != name
}

// namesRows matches names that say which row something is, or what is to be predicted of it, and
// not a coordinate: id, ID, _id, doc_id, movieId, label, index, ..
var namesRows = regexp.MustCompile(`^(?i:_*(id|ids|uid|uuid|pk|key|idx|index|row|rowid|label|labels|class|target)_*)$|(?i:[_ .-](id|key|idx|index|label))$|[a-z]I[Dd]$`)

// wideColumns returns which of the columns of numbers make the vector, of the named columns of a
// file: an error names the readings and word, which decides.
func wideColumns(names []string, numbers []int, word string) ([]int, error) {
	stems, plain := map[string]bool{}, false
	rowish := ""
	for _, i := range numbers {
		stem, numbered := family(names[i])
		if numbered {
			stems[stem] = true
			continue
		}
		plain = true
		if rowish == "" && namesRows.MatchString(names[i]) {
			rowish = names[i]
		}
	}
	switch {
	case len(stems) == 1 && !plain:
		for stem := range stems {
			return familyColumns(names, stem), nil
		}
	case len(stems) == 0 && (rowish == "" || len(names) == 1):
		return numbers, nil
	}
	return nil, fmt.Errorf("columns %s hold numbers: all of them may be coordinates, or some of them may name or describe the rows; %s names those that make the vector, as %s", Ranges(namesAt(names, numbers)), word, example(names, numbers))
}

// familyColumns returns the columns of one family, whether their first value is a number or not: a
// gap in one of them is an error of its row.
func familyColumns(names []string, stem string) (at []int) {
	for i, name := range names {
		if s, numbered := family(name); numbered && s == stem {
			at = append(at, i)
		}
	}
	return at
}

func namesAt(names []string, at []int) []string {
	chosen := make([]string, len(at))
	for i, c := range at {
		chosen[i] = names[c]
	}
	return chosen
}

// example returns a choice that may be meant: the largest family of numbered names as a pattern, or
// else the last column.
func example(names []string, numbers []int) string {
	count := map[string]int{}
	best := ""
	for _, i := range numbers {
		if stem, numbered := family(names[i]); numbered {
			if count[stem]++; best == "" || count[stem] > count[best] {
				best = stem
			}
		}
	}
	if best == "" {
		return strconv.Quote(names[numbers[len(numbers)-1]])
	}
	// The first number of a pattern is a digit and more, so that Unnamed: 0 is no d0.
	return strconv.Quote(strings.ReplaceAll(best, "#", "[0-9]*"))
}

// alike compares the columns chosen for a vector with those of the vectors that it is compared
// with, like, and returns them in the order of like. Names that differ are refused unless the user
// listed the columns, whose order is then the user's own.
func alike(names []string, at []int, like []string, word string) ([]int, error) {
	if len(like) == 0 {
		return at, nil
	}
	ordered := make([]int, 0, len(like))
	for _, name := range like {
		i := slices.IndexFunc(at, func(c int) bool { return names[c] == name })
		if i < 0 {
			return nil, fmt.Errorf("the columns are %s, and those of the vectors that they are compared with are %s: are they the same coordinates in this order? %s lists the columns in the order of the others", Ranges(namesAt(names, at)), Ranges(like), word)
		}
		ordered = append(ordered, at[i])
	}
	if len(ordered) != len(at) {
		return nil, fmt.Errorf("the columns are %s, and those of the vectors that they are compared with are %s: %s lists the columns in the order of the others", Ranges(namesAt(names, at)), Ranges(like), word)
	}
	return ordered, nil
}

// Ranges joins names of columns for people: neighbours that count by one are written d0..d15, and
// of more than twenty parts only the first are.
func Ranges(names []string) string {
	const most = 20
	var parts []string
	for i := 0; i < len(names); {
		end := i + 1
		for end < len(names) && follows(names[end-1], names[end]) {
			end++
		}
		if end-i > 2 {
			parts = append(parts, names[i]+".."+names[end-1])
		} else {
			end = i + 1
			parts = append(parts, names[i])
		}
		i = end
		if len(parts) == most && i < len(names) {
			return strings.Join(parts, ", ") + fmt.Sprintf(", .. (%d columns)", len(names))
		}
	}
	return strings.Join(parts, ", ")
}

// follows reports whether the last number in b is one more than that in a, and all else is equal.
func follows(a, b string) bool {
	x, y := lastNumber(a), lastNumber(b)
	if x == nil || y == nil || a[:x[0]] != b[:y[0]] || a[x[1]:] != b[y[1]:] {
		return false
	}
	m, errM := strconv.Atoi(a[x[0]:x[1]])
	n, errN := strconv.Atoi(b[y[0]:y[1]])
	return errM == nil && errN == nil && n == m+1
}

// lastNumber returns where the last digits of a name are, nil without.
func lastNumber(name string) []int {
	all := digits.FindAllStringIndex(name, -1)
	if all == nil {
		return nil
	}
	return all[len(all)-1]
}

// Names of columns that are not vectors of this file, or not alone.
func answerNames() []string {
	return slices.Concat(tableIDNames(), tableScoreNames(), []string{rowsName, scores64Name})
}

func indexNames() []string {
	return []string{"indices", "indexes", "index", "idx", "cols", "columns", "keys", "tokens", "token_ids", "terms", "positions"}
}

// severalFound is the error of several columns, fields or arrays, as what says, of which each could be the vectors.
func severalFound(what string, found []string, word string) error {
	if slices.ContainsFunc(found, func(name string) bool { return !slices.Contains(answerNames(), name) }) {
		return fmt.Errorf("several %s could be the vectors, %s names one: %s", what, word, listed(found))
	}
	return fmt.Errorf("several %s could be the vectors, or by their names they are the answers of a search, %s names the vectors: %s", what, word, listed(found))
}

// refuseFound refuses a column, field or array as the vectors that is the only one of suitable
// type, but by its name, or those of all others, something else: part of the answers of a search,
// or the values of sparse vectors. called is what the user would call it.
func refuseFound(name, called string, all []string, word string) error {
	if slices.Contains(answerNames(), name) {
		return fmt.Errorf("%q may be vectors, or by its name part of the answers of a search; the file has %s; %s=%s makes it the vectors", name, listed(slices.Clone(all)), word, called)
	}
	for _, other := range all {
		if other != name && slices.Contains(indexNames(), other) {
			return fmt.Errorf("%q may be vectors, or the values of sparse vectors whose coordinates are in %q; %s=%s makes it the vectors", name, other, word, called)
		}
	}
	return nil
}
