package dataset

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// AnswersVersion is the version of the answers that are written, which each line of JSON, each npz (array
// answers_version) and each Parquet file (metadata) states. In version 2, ids are those that users gave the
// vectors and rows their row numbers; without rows these are not known. Where the vectors have no ids, ids are
// the row numbers too, and id_kind is "row". Files of before state no version: their ids are row numbers if
// there are names beside them, which are then the users' ids.
const AnswersVersion = 2

// The names of what answers of version 2 have beside those of before.
const (
	versionName  = "answers_version"
	idKindName   = "id_kind" // of rowKind, or absent
	rowsName     = "rows"
	countsName   = "counts" // of ids of uint64, which have no number for padding
	queryIDName  = "query_id"
	queryIDsName = "query_ids"
	scores64Name = "scores64"
	namesName    = "names" // of before version 2

	rowKind = "row" // the ids are row numbers
)

// checkVersion refuses answers of a version that is not known; 0 is none stated.
func checkVersion(v int64) error {
	if v < 0 || v > AnswersVersion {
		return fmt.Errorf("%s %d: versions up to %d are read; a later program wrote this", versionName, v, AnswersVersion)
	}
	return nil
}

// AreWhole reports whether ids are whole numbers from 0 to 2^64-1 throughout, as which answers have them.
func AreWhole(ids []string) bool {
	for _, id := range ids {
		if !isWhole(id) {
			return false
		}
	}
	return true
}

// idForm is how a column of ids is stored: as int64 while all are whole numbers and fit, else as uint64 while
// all fit that, else as texts.
type idForm struct {
	some, texts, wide bool
	length            int // code points of the longest
}

// see takes an id into account.
func (f *idForm) see(id string) {
	f.some = true
	f.length = max(f.length, utf8.RuneCountInString(id))
	if f.texts {
		return
	}
	x, err := strconv.ParseUint(id, 10, 64)
	f.texts = err != nil || strconv.FormatUint(x, 10) != id
	f.wide = f.wide || x > math.MaxInt64
}

// answersForm is how the columns of some results are stored.
type answersForm struct {
	ids, queryIDs idForm
	rowsUnknown   bool // of a vector
	exact         bool // some have scores in float64
}

// see takes a result into account.
func (f *answersForm) see(r *Result) {
	for _, id := range r.IDs {
		f.ids.see(id)
	}
	if r.QueryID != "" {
		f.queryIDs.see(r.QueryID)
	}
	f.rowsUnknown = f.rowsUnknown || len(r.Rows) < len(r.IDs)
	f.exact = f.exact || len(r.Scores64) > 0
}
