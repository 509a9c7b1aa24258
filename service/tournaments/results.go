package tournaments

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"thresher/duel"
	"thresher/service/problem"
)

// Results is the body of a report: a JSON list of {"duel_id": 7, "a_won": true}.
type Results []duel.Result

// UnmarshalJSON reads the list; errors are of type *problem.Problem and name the
// element.
func (l *Results) UnmarshalJSON(text []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil || list == nil {
		return problem.New(problem.Malformed, `the body is no list of results, such as [{"duel_id":7,"a_won":true}]`)
	}
	*l = make(Results, len(list))
	for i, text := range list {
		var err error
		if (*l)[i], err = decodeResult(i, text); err != nil {
			return err
		}
	}
	return nil
}

// decodeResult reads element i of the list.
func decodeResult(i int, text []byte) (duel.Result, error) {
	var r struct {
		DuelID *uint64 `json:"duel_id"`
		AWon   *bool   `json:"a_won"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&r)
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped) && mistyped.Field != "":
		return duel.Result{}, problem.New(problem.InvalidValue, "result %d: %s is a JSON %s", i, mistyped.Field, mistyped.Value).At(mistyped.Field, i)
	case err != nil:
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return duel.Result{}, problem.New(problem.UnknownField, "result %d: there is no field %s", i, name).At(strings.Trim(name, `"`), i)
		}
		return duel.Result{}, problem.New(problem.Malformed, "result %d is no JSON object", i).At("results", i)
	case r.DuelID == nil:
		return duel.Result{}, problem.New(problem.InvalidValue, "result %d has no duel_id", i).At("duel_id", i)
	case r.AWon == nil:
		return duel.Result{}, problem.New(problem.InvalidValue, "result %d has no a_won", i).At("a_won", i)
	}
	return duel.Result{Duel: *r.DuelID, AWon: *r.AWon}, nil
}
