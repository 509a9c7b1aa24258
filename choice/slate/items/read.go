package items

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"thresher/choice/slate"
	"thresher/internal/plaintext"
)

// Read reads the items of a file, or of a folder of MovieLens 100K. The file name's
// extension selects the format.
//
// JSON lines (.jsonl), one item a line; everything but id is optional:
//
//	{"id":"7","title":"Up","groups":["Drama"],"score":0.8,"features":{"loss":0.7},"costs":{"minutes":96}}
//
// CSV (.csv) has the columns id, title, groups (separated by |, with white space around
// names ignored), score, feature.NAME, cost and cost.NAME, in any order.
//
// Without features an item covers its groups by its score, by default 0.5. A missing
// feature is 0; a cost must be given for all items or none. Topics, costs and groups are
// in alphabetical order. Errors name file, line, item and field.
func Read(path string) (*Set, error) { return ReadWithin(path, 0) }

// ReadWithin is Read with a limit on the bytes of the features, 0 for none: they take a
// number for each item and topic, though a file may omit most of them.
func ReadWithin(path string, memory int64) (*Set, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return MovieLens(path)
	}
	read := readJSONL
	switch filepath.Ext(path) {
	case ".csv":
		read = readCSV
	case ".jsonl":
	default:
		return nil, fmt.Errorf("%s: name ends in none of .csv, .jsonl, and is no folder of MovieLens", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	records, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s, err := assemble(records, memory)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// defaultScore leaves half of a topic uncovered.
const defaultScore = .5

// record is one item as parsed.
type record struct {
	line            int
	ID, Title       string
	Groups          []string
	Score           *float64
	Features, Costs map[string]float64
}

// jsonItem distinguishes numbers from null, which is rejected.
type jsonItem struct {
	ID       string              `json:"id"`
	Title    string              `json:"title"`
	Groups   []string            `json:"groups"`
	Score    *float64            `json:"score"`
	Features map[string]*float64 `json:"features"`
	Costs    map[string]*float64 `json:"costs"`
}

func readJSONL(r io.Reader) ([]record, error) {
	text, err := plaintext.JSON(r)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(text)
	if err != nil {
		return nil, err
	}
	var records []record
	number := 0
	for line := range strings.Lines(string(b)) {
		number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		var item jsonItem
		if err := decoder.Decode(&item); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, inWordsOfFile(err))
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("line %d: more than one item", number)
		}
		rec := record{line: number, ID: item.ID, Title: item.Title, Groups: item.Groups, Score: item.Score}
		if rec.Features, err = numbers("feature", item.Features); err == nil {
			rec.Costs, err = numbers("cost", item.Costs)
		}
		if err != nil {
			return nil, rec.wrong(err)
		}
		records = append(records, rec)
	}
	return records, nil
}

// inWordsOfFile words a type error without the names of Go types.
func inWordsOfFile(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	return fmt.Errorf("%s: cannot be a JSON %s", cmp.Or(wrong.Field, "item"), wrong.Value)
}

// numbers rejects null.
func numbers(field string, from map[string]*float64) (map[string]float64, error) {
	to := make(map[string]float64, len(from))
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if from[name] == nil {
			return nil, fmt.Errorf("%s.%s: null is no number", field, name)
		}
		to[name] = *from[name]
	}
	return to, nil
}

// wrong says which item an error concerns.
func (r *record) wrong(err error) error {
	if r.ID == "" {
		return fmt.Errorf("line %d: %w", r.line, err)
	}
	return fmt.Errorf("line %d, item %q: %w", r.line, r.ID, err)
}

func readCSV(r io.Reader) ([]record, error) {
	text, err := plaintext.CSV(r)
	if err != nil {
		return nil, err
	}
	rows := csv.NewReader(text)
	head, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("is empty")
	}
	if err != nil {
		return nil, err
	}
	head[0] = strings.TrimPrefix(head[0], "\ufeff") // spreadsheets write a byte order mark
	for i, column := range head {
		if slices.Contains(head[:i], column) {
			return nil, fmt.Errorf("column %q is there twice", column)
		}
		if err := checkColumn(column); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(head, "id") {
		return nil, errors.New("has no column id")
	}
	var records []record
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return nil, err // names the line
		}
		line, _ := rows.FieldPos(0)
		rec := record{line: line, Features: map[string]float64{}, Costs: map[string]float64{}}
		for i, text := range row {
			if err := rec.set(head[i], text); err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
		}
		records = append(records, rec)
	}
}

func checkColumn(column string) error {
	if slices.Contains([]string{"id", "title", "groups", "score", "cost"}, column) {
		return nil
	}
	for _, prefix := range []string{"feature.", "cost."} {
		if len(column) > len(prefix) && strings.HasPrefix(column, prefix) {
			return nil
		}
	}
	return fmt.Errorf("column %q is none of id, title, groups, score, feature.NAME, cost, cost.NAME", column)
}

// set parses the text of a column that checkColumn accepts. An empty number is missing.
func (r *record) set(column, text string) error {
	switch column {
	case "id":
		r.ID = text
		return nil
	case "title":
		r.Title = text
		return nil
	case "groups":
		if text != "" {
			for name := range strings.SplitSeq(text, "|") {
				r.Groups = append(r.Groups, strings.TrimSpace(name))
			}
		}
		return nil
	}
	if text == "" {
		return nil
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return fmt.Errorf("%s: %q is not a number", column, text)
	}
	if name, ok := strings.CutPrefix(column, "feature."); ok {
		r.Features[name] = x
		return nil
	}
	if column == "score" {
		r.Score = &x
		return nil
	}
	r.Costs[strings.TrimPrefix(column, "cost.")] = x // the column cost has the name cost
	return nil
}

// assemble validates the records and returns them as a Set.
func assemble(records []record, memory int64) (*Set, error) {
	if len(records) == 0 {
		return nil, errors.New("has no items")
	}
	topics, costs, groups := map[string]bool{}, map[string]bool{}, map[string]bool{}
	seen := map[string]int{}
	for i := range records {
		r := &records[i]
		if err := r.check(); err != nil {
			return nil, r.wrong(err)
		}
		if first, twice := seen[r.ID]; twice {
			return nil, fmt.Errorf("line %d: id %q is that of line %d", r.line, r.ID, first)
		}
		seen[r.ID] = r.line
		addKeys(topics, r.Features)
		addKeys(costs, r.Costs)
		for _, g := range r.Groups {
			groups[g] = true
		}
	}
	s := &Set{Topics: sorted(topics), CostNames: sorted(costs), GroupNames: sorted(groups)}
	if err := s.fits(len(records), memory); err != nil {
		return nil, err
	}
	scores := make([]float64, len(records))
	for i := range records {
		r := &records[i]
		s.IDs = append(s.IDs, r.ID)
		s.Titles = append(s.Titles, r.Title)
		for _, name := range s.CostNames {
			x, ok := r.Costs[name]
			if !ok {
				return nil, r.wrong(fmt.Errorf("costs: there is no %s, which other items have", name))
			}
			s.Costs = append(s.Costs, x)
		}
		for _, name := range s.Topics {
			s.Features = append(s.Features, r.Features[name])
		}
		var own []int
		for g, name := range s.GroupNames {
			if slices.Contains(r.Groups, name) {
				own = append(own, g)
			}
		}
		s.Groups = append(s.Groups, own)
		scores[i] = defaultScore
		if r.Score != nil {
			scores[i] = *r.Score
		}
		if r.Score != nil && len(s.Topics) > 0 {
			return nil, r.wrong(errors.New("score: is for files without features"))
		}
	}
	if len(s.Topics) == 0 {
		s.cover(scores)
	}
	if len(s.Topics) == 0 {
		return nil, errors.New("has neither features nor groups")
	}
	return s, nil
}

// fits reports an error if the features of n items exceed memory, before they are allocated.
func (s *Set) fits(n int, memory int64) error {
	d := len(s.Topics)
	if d == 0 {
		d = len(s.GroupNames) // which cover uses as topics
	}
	if d > slate.MaxFeatures {
		return fmt.Errorf("%d topics, and at most %d can be learned of", d, slate.MaxFeatures)
	}
	const each = 16 // bytes, while slices grow
	if need := each * int64(n) * int64(d); memory > 0 && need > memory {
		return fmt.Errorf("%d items of %d topics take %d bytes of memory, and %d may be taken", n, d, need, memory)
	}
	return nil
}

func (r *record) check() error {
	if r.ID == "" {
		return errors.New("id: is empty")
	}
	for i, g := range r.Groups {
		if g == "" {
			return errors.New("groups: a name is empty")
		}
		if g != strings.TrimSpace(g) {
			return fmt.Errorf("groups: %q has spaces at its ends", g)
		}
		if slices.Contains(r.Groups[:i], g) {
			return fmt.Errorf("groups: %q is there twice", g)
		}
	}
	if r.Score != nil {
		if err := inUnit("score", *r.Score); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Features)) {
		if err := inUnit("feature."+name, r.Features[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Costs)) {
		if err := payable("cost."+name, r.Costs[name]); err != nil {
			return err
		}
	}
	return nil
}

func addKeys(set map[string]bool, from map[string]float64) {
	for name := range from {
		set[name] = true
	}
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
