package service

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"thresher/dataset"
	"thresher/dataset/jsonscan"
	"thresher/service/catalog"
	"thresher/service/jsonbody"
	"thresher/service/problem"
	"thresher/service/wire"
)

// putRows writes rows under their ids, durably: the next search has them.
func (s *Server) putRows(r *request, w http.ResponseWriter) error {
	return s.takeRows(r, w, s.catalog.Put)
}

func (s *Server) appendRows(r *request, w http.ResponseWriter) error {
	return s.takeRows(r, w, s.catalog.Append)
}

// takeRows answers a request whose body has rows.
func (s *Server) takeRows(r *request, w http.ResponseWriter, do func(context.Context, string, catalog.Source, string) (catalog.Info, error)) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	wait, err := wantsToWait(r)
	if err != nil {
		return err
	}
	src, err := s.source(r, jsonbody.Members{})
	if err != nil {
		return err
	}
	info, err := do(ifMatch(r), r.PathValue("name"), src, key)
	if err != nil {
		return err
	}
	return s.answerChange(r, w, info, wait, http.StatusOK)
}

// readIDs reads a list of ids, all integers or all strings, of no more than collections in memory bytes can have.
func readIDs(name string, memory int64, keys *catalog.Keys) jsonbody.Reader {
	var l wire.IDList
	numbers := false
	return jsonbody.Array(name, listed(memory, listedID), func(b []byte, i int) (next int, err error) {
		const wanted = ": ids are all 64-bit integers or all texts"
		switch {
		case i < len(b) && b[i] == '"' && !numbers:
			if _, _, err = jsonscan.Name(b, i); err != nil {
				return i, err
			}
			var text string
			next, err = jsonbody.Text("", &text)(b, i)
			l.Names = append(l.Names, text)
		case jsonscan.Number(b, i) > 0 && (numbers || l.Names == nil):
			numbers = true
			next, err = l.AddNumber("", b, i)
		default:
			return i, jsonbody.Mistyped("", b, i, "an id"+wanted)
		}
		keys.Ints, keys.Names = l.Ints, l.Names
		return next, err
	})
}

func (s *Server) deleteRows(r *request, w http.ResponseWriter) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	wait, err := wantsToWait(r)
	if err != nil {
		return err
	}
	ids, err := s.idsToDelete(r)
	if err != nil {
		return err
	}
	info, err := s.catalog.Remove(ifMatch(r), r.PathValue("name"), ids, key)
	if err != nil {
		return noRow(err)
	}
	return s.answerChange(r, w, info, wait, http.StatusOK)
}

// idsToDelete returns the ids that a request lists, in its body or as a parameter.
func (s *Server) idsToDelete(r *request) (ids catalog.Keys, err error) {
	listed, err := r.params.parseText("ids")
	switch {
	case err != nil:
		return ids, err
	case r.params.Has("ids") && r.ContentLength != 0:
		return ids, twice("ids")
	case r.params.Has("ids"):
		return keysOf(listed)
	case mediaType(r.Request) != jsonType:
		return ids, unsupported(r.Request, jsonType)
	}
	// Lists of ids take memory and slots as searches do; a request that then waits for other
	// changes of the collection holds neither.
	return ids, s.inTurn(r, func(in *input) error {
		text, err := in.all()
		if err != nil {
			return err
		}
		if err := jsonbody.Decode(text, jsonbody.Members{"ids": jsonbody.Optional(readIDs("ids", s.o.Limits.Memory, &ids))}); err != nil {
			return err
		}
		if ids.Len() == 0 {
			return problem.New(problem.InvalidValue, "ids is empty").In("ids")
		}
		return nil
	})
}

// keysOf returns the ids of a list in which commas separate them: integers if all are, which can be texts, too.
func keysOf(list string) (ids catalog.Keys, err error) {
	if list == "" {
		return ids, problem.New(problem.InvalidValue, "ids is empty").In("ids")
	}
	ids.Names = strings.Split(list, ",")
	for _, name := range ids.Names {
		id, ok := plainInteger(name)
		if !ok {
			ids.Ints = nil
			break
		}
		ids.Ints = append(ids.Ints, id)
	}
	return ids, nil
}

// noRow returns err, with status 404 if it says that no atom has an id: for requests for
// rows, the row is what was not found.
func noRow(err error) error {
	var p *problem.Problem
	if !errors.As(err, &p) || p.Kind != problem.UnknownID {
		return err
	}
	missing := *p
	missing.Kind = problem.UnknownRow
	return &missing
}

// plainInteger parses an integer of 64 bits in its only form: without a plus sign or leading zeros,
// as which texts such as 01 would name what 1 does.
func plainInteger(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// getRow answers with one row as given; as npy it can be the body of a search.
func (s *Server) getRow(r *request, w http.ResponseWriter) error {
	form, err := accepted(r.Request, jsonType, npyType)
	if err != nil {
		return err
	}
	v, err := s.catalog.Use(r.PathValue("name"), 0)
	if err != nil {
		return err
	}
	defer v.Release()
	text := r.PathValue("id")
	var id any = text
	keys := catalog.Keys{Names: []string{text}}
	if v.IDs().Kind() != catalog.Strings {
		n, ok := plainInteger(text)
		if !ok {
			return problem.New(problem.UnknownRow, "the ids of %s are integers, and %q is not one as they are written", v.Info().Name, text).In("id")
		}
		id, keys = n, catalog.Keys{Ints: []int64{n}}
	}
	rows, err := v.IDs().Rows(&keys, "id")
	if err != nil {
		return noRow(err)
	}
	if form == npyType {
		out := s.buffers.text()
		defer s.buffers.freeText(out)
		if err := dataset.WriteNPY64(out, 1, v.Dim(), v.Given(rows[0])); err != nil {
			return err
		}
		w.Header().Set("Content-Type", npyType)
		return send(w, http.StatusOK, out.b)
	}
	var vector any = v.Row(rows[0])
	if v.Origin() != nil || v.Float64() {
		vector = v.Given(rows[0])
	}
	info := v.Info()
	w.Header().Set("ETag", versionTag(info))
	place := &rows[0]
	if v.Changes() {
		place = nil
	}
	return writeJSON(w, http.StatusOK, struct {
		Version int64   `json:"version"`
		Writes  *uint64 `json:"writes,omitempty"`
		ID      any     `json:"id"`
		Row     *int64  `json:"row,omitempty"`
		Vector  any     `json:"vector"` // of numbers
	}{info.Version, info.Writes, id, place, vector})
}
