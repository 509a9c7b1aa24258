package dataset

import (
	"fmt"
	"slices"
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
	score64Name  = "score64" // of one pair, or one edge
	coversName   = "covers"
	namesName    = "names" // of before version 2

	guaranteeName = "guarantee"
	deltaName     = "delta"
	epsilonName   = "epsilon"

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
	return !slices.ContainsFunc(ids, func(id string) bool { return !isWhole(id) })
}
