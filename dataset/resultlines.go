package dataset

import (
	"encoding/json"
	"errors"
)

// openAnswerLines opens answers in JSON as AppendJSONL writes them, and others with some of their fields.
func openAnswerLines(src *source) (ResultReader, error) {
	t, err := openJSONLRows(src, "")
	if err != nil {
		return nil, err
	}
	a := &answers{tableReader: t, file: src.name, lines: true}
	if err := a.find(nil); err != nil {
		return nil, err
	}
	return a, t.choose(a.wants)
}

// errNoAnswer says what a line lacks, and what else is read.
var errNoAnswer = errors.New(`a result has query (not negative) and ids; of vector databases, {"result":[..]} as Qdrant answers, [[{"id":..,"score":..},..],..] and rows with query, id and score are read`)

// readLine reads what a line alone says of its answer.
func (a *answers) readLine(r *Result) error {
	a.version = a.cells[ofVersion].integer
	if err := checkVersion(a.version); err != nil {
		return err
	}
	if !a.has(ofQuery) || !a.has(ofIDs) || a.cells[ofQuery].integer < 0 || r.Pulls < -1 {
		return errNoAnswer
	}
	a.own = a.version == AnswersVersion && a.cells[ofKind].text != rowKind
	if a.version < AnswersVersion && a.has(ofNames) && len(a.cells[ofIDs].texts) > 0 {
		return errors.New("the ids are no row numbers, and there are names beside them")
	}
	if text := a.cells[ofCertificate].text; text != "" {
		r.Certificate = json.RawMessage(text)
	}
	r.Covers = coversOf([]byte(a.cells[ofCovers].text))
	return nil
}
