package dataset

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CheckIDs refuses ids that are no UTF-8, of which several would be written as one, and ids that are numbers throughout, of which one has a point or an exponent, or is
// negative: floats stand for several integers from 2^53 on, and -1 stands for none where answers are
// padded. ids are those of a column, by row; a column with another text has texts for ids, whatever
// they look like. The error, a *Error, names file, row and id.
func CheckIDs(file string, ids []string) error {
	for i, id := range ids {
		if !utf8.ValidString(id) {
			return failAt(file, int64(i), -1, "id %.40q is no UTF-8", id)
		}
	}
	float, negative := -1, -1
	for i, id := range ids {
		switch {
		case isWhole(id):
		case strings.HasPrefix(id, "-") && isWhole(id[1:]):
			if negative < 0 {
				negative = i
			}
		case isNumber(id) && strings.ContainsAny(id, ".eE"):
			if float < 0 {
				float = i
			}
		default:
			return nil
		}
	}
	switch {
	case float >= 0:
		return failAt(file, int64(float), -1, "id %.40s is a float, which can be a number, or an id that a float64 rounds from 2^53 on; ids are integers from 0 on, or texts", ids[float])
	case negative >= 0:
		return failAt(file, int64(negative), -1, "id %.40s is negative; ids are integers from 0 on, or texts: -1 stands for none in answers", ids[negative])
	}
	return nil
}

// findsIDs reports whether a column called id is taken for ids, or refused.
func (o *Options) findsIDs() bool { return o.IDs == "" && o.FindIDs && o.Column != idName }

// noIDs is the error of a column called id that cannot be ids, which is what.
func (o *Options) noIDs(what string) error {
	return fmt.Errorf("%q is %s, and ids are integers or strings throughout: %s names another column of ids; rename %q if it is none (pandas writes floats where an id is missing)", idName, what, o.words().IDs, idName)
}

// CheckUnique refuses an empty id, and one that two rows have: an answer by it would name several rows. ids are those
// of a column, by row. The error, a *Error, names file, rows and id.
func CheckUnique(file string, ids []string) error {
	table := make([]int, 1<<bits.Len(uint(len(ids)+len(ids)/2))) // rows from 1 on, where their hashes say; half the size of a map
	seed := maphash.MakeSeed()
	for i, id := range ids {
		if id == "" {
			return failAt(file, int64(i), -1, "id is empty, which stands for none in answers")
		}
		at := int(maphash.String(seed, id)) & (len(table) - 1)
		for ; table[at] != 0; at = (at + 1) & (len(table) - 1) {
			if first := table[at] - 1; ids[first] == id {
				return failAt(file, int64(i), -1, "has the id %.60q, which row %d has already", id, first)
			}
		}
		table[at] = i + 1
	}
	return nil
}

// isWhole reports whether id is an integer of 64 bits without a sign, as an id is written.
func isWhole(id string) bool {
	_, ok := parseWhole(id)
	return ok
}

// parseWhole returns the integer that isWhole reports.
func parseWhole(id string) (uint64, bool) {
	if id == "" || id[0] < '0' || id[0] > '9' || id[0] == '0' && len(id) > 1 {
		return 0, false
	}
	x, err := strconv.ParseUint(id, 10, 64)
	return x, err == nil
}
