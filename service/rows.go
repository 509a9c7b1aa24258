package service

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"thresher/columns"
	"thresher/dataset"
	"thresher/dataset/jsonscan"
	"thresher/service/api"
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
	what, err := s.rowsToDelete(r)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	var info catalog.Info
	if what.where != nil {
		info, err = s.catalog.RemoveWhere(ifMatch(r), name, what.where, what.text, key)
	} else if info, err = s.catalog.Remove(ifMatch(r), name, what.ids, key); err != nil {
		err = noRow(err)
	}
	if err != nil {
		return err
	}
	return s.answerChange(r, w, info, wait, http.StatusOK)
}

// deletion says which rows a request deletes: those of ids, or those for which where is true.
type deletion struct {
	ids   catalog.Keys
	where *columns.Expr
	text  string // of where
}

// howToDelete is what a request to delete rows says.
const howToDelete = `the rows to delete are named by a JSON body, {"ids": [1, 2]} or {"filter": "year < 1950"}, or by the parameter ids=1,2 or filter=`

// rowsToDelete returns which rows a request names, in its body or as a parameter.
func (s *Server) rowsToDelete(r *request) (what deletion, err error) {
	listed, err := r.params.parseText("ids")
	if err != nil {
		return what, err
	}
	expression, err := r.params.parseText("filter")
	if err != nil {
		return what, err
	}
	byIDs, byFilter, body := r.params.Has("ids"), r.params.Has("filter"), r.ContentLength != 0
	switch {
	case byIDs && byFilter:
		return what, problem.New(problem.InvalidValue, "ids and filter are both given, and one of them says which rows are deleted").In("filter")
	case byIDs && body:
		return what, twice("ids")
	case byFilter && body:
		return what, twice("filter")
	case byIDs:
		what.ids, err = keysOf(listed)
		return what, err
	case byFilter:
		return what, what.parse(expression, columns.Parse)
	case !body:
		return what, problem.New(problem.InvalidValue, "nothing says which rows: %s", howToDelete).In("ids")
	case mediaType(r.Request) != jsonType:
		p := problem.Of(unsupported(r.Request, jsonType))
		p.Detail += "; " + howToDelete
		return what, p
	}
	// Lists of ids take memory and slots as searches do; a request that then waits for other
	// changes of the collection holds neither.
	return what, s.inTurn(r, func(in *input) error {
		text, err := in.all()
		if err != nil {
			return err
		}
		given := false
		members := jsonbody.Members{
			"ids": jsonbody.Optional(func(b []byte, i int) (int, error) {
				given = true
				return readIDs("ids", s.o.Limits.Memory, &what.ids)(b, i)
			}),
			"filter": jsonbody.Optional(what.readFilter),
		}
		if err := jsonbody.Decode(text, members); err != nil {
			return err
		}
		switch {
		case given && what.where != nil:
			return problem.New(problem.InvalidValue, "ids and filter are both given, and one of them says which rows are deleted").In("filter")
		case given && what.ids.Len() == 0:
			return problem.New(problem.InvalidValue, "ids is empty").In("ids")
		case !given && what.where == nil:
			return problem.New(problem.InvalidValue, "nothing says which rows: %s", howToDelete).In("ids")
		}
		return nil
	})
}

// readFilter reads an expression over columns, or a filter in Qdrant's form.
func (d *deletion) readFilter(b []byte, i int) (next int, err error) {
	if i < len(b) && b[i] == '{' {
		if next, err = jsonscan.Value(b, i); err != nil {
			return i, err
		}
		return next, d.parse(string(b[i:next]), func(text string) (*columns.Expr, error) { return columns.ParseJSON([]byte(text)) })
	}
	if i < len(b) && b[i] != '"' {
		return i, jsonbody.Mistyped("filter", b, i, "an expression over columns, or a filter in Qdrant's form")
	}
	var text string
	if next, err = jsonbody.Text("filter", &text)(b, i); err != nil {
		return i, err
	}
	return next, d.parse(text, columns.Parse)
}

// parse takes an expression.
func (d *deletion) parse(text string, parse func(string) (*columns.Expr, error)) (err error) {
	if d.text = text; strings.TrimSpace(text) == "" {
		return problem.New(problem.InvalidValue, "filter is empty").In("filter")
	}
	if d.where, err = parse(text); err != nil {
		return problem.OfFilter(err, "filter")
	}
	if d.where.IsAlwaysTrue() {
		return problem.New(problem.InvalidValue, "filter has no condition that a row could fail, and so would delete all rows; it names those to delete by a condition on a column or by has_id, and DELETE of the collection deletes it").In("filter")
	}
	return nil
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
	rows, err := rowsNamed(v, []string{r.PathValue("id")})
	if err != nil {
		return err
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
	described, _ := describeRows(v, rows, false)
	return writeJSON(w, http.StatusOK, struct {
		Version int64   `json:"version"`
		Writes  *uint64 `json:"writes,omitempty"`
		api.Row
		Place  *int64 `json:"row,omitempty"`
		Vector any    `json:"vector"` // of numbers
	}{info.Version, info.Writes, described[0], place, vector})
}
