package catalog

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"thresher/columns"
	"thresher/dataset"
	"thresher/service/api"
	"thresher/service/problem"
	"thresher/store"
)

// The bucket "catalog" holds: collections by name; replaced but pinned versions, by name and
// number; the last number that each name has used, also of deleted names; pins; idempotency
// keys.
const (
	rootBucket    = "catalog"
	namesBucket   = "collections"
	retiredBucket = "retired"
	numbersBucket = "numbers"
	pinsBucket    = "pins"
	keysBucket    = "keys"
)

// record is the record of a collection.
type record struct {
	Ready  *change `json:"ready,omitempty"`  // the current version
	Next   *change `json:"next,omitempty"`   // the one being built
	Failed *change `json:"failed,omitempty"` // the last one requested, if it failed
}

// change is a version: its sources and, once it is ready, its properties.
type change struct {
	Version   int64     `json:"version"`
	Base      string    `json:"base"` // prefix of the names of its files
	CreatedAt time.Time `json:"created_at"`
	Metric    string    `json:"metric"`
	Basis     string    `json:"basis"`
	Seed      uint64    `json:"seed"`
	Drawn     bool      `json:"drawn,omitempty"` // the seed is secret, and the next version gets a new one
	Dim       int       `json:"dimension"`
	DType     string    `json:"dtype,omitempty"` // float64 if values given so are kept so; else ""
	Count     int64     `json:"count"`           // 0 while unknown
	IDs       Kind      `json:"ids"`             // before it is ready the requested kind, "" to infer it
	NextID    int64     `json:"next_id"`
	Bytes     int64     `json:"bytes"` // of memory, once ready

	// Rounded is what rounding the rows to float32 changed, nil if nothing.
	Rounded *api.Rounding `json:"rounded,omitempty"`

	Adopted string   `json:"adopted,omitempty"` // how it was found, if the database did not know it
	From    int64    `json:"from,omitempty"`    // the version that it changes; 0 if none
	Rows    *origin  `json:"rows,omitempty"`    // new ones
	Drop    string   `json:"drop,omitempty"`    // file of the row numbers of From that are removed
	Failure *failure `json:"failure,omitempty"` // why it failed
	// Coordinates are the names of the coordinates, nil if they have none; VectorColumns says which
	// columns of the newest rows' source made the vectors.
	Coordinates   []string `json:"coordinates,omitempty"`
	VectorColumns string   `json:"vector_columns,omitempty"`
	// Columns are those by which filters select, nil if there are none.
	Columns []columns.Field `json:"columns,omitempty"`
	// Folder says that the vectors are in a folder and change by rows: Count, Bytes and Rounded are those of the beginning.
	Folder bool `json:"folder,omitempty"`
	// CopyOf, if not 0, is the version that changes of which this is a copy as it was at an instant, for whoever pins it.
	CopyOf int64 `json:"copy_of,omitempty"`
	// Writes are those that a copy has.
	Writes uint64 `json:"writes,omitempty"`
	// least is the least number that the version may get.
	least int64
	// Warnings concern the new rows.
	Warnings []string `json:"warnings,omitempty"`
}

// origin is a durable source.
type origin struct {
	Called   string `json:"called"`          // the client's name for it
	Asked    string `json:"asked,omitempty"` // the path that was named, if Called is another
	File     string `json:"file,omitempty"`  // in the catalog's folder; else it lies in a root
	Path     string `json:"path,omitempty"`  // there, links resolved
	Size     int64  `json:"size,omitempty"`  // of the file at Path
	Modified int64  `json:"modified,omitempty"`
	Prepared bool   `json:"prepared,omitempty"`  // a collection file
	SavedIDs bool   `json:"saved_ids,omitempty"` // whose ids are in a file beside it
	// SavedColumns says that its columns are in a file beside it, of which Columns are wanted, nil for all.
	SavedColumns bool `json:"saved_columns,omitempty"`
	// AllColumns says that Columns are all that the file has, of which those that cannot be kept are left out.
	AllColumns bool `json:"all_columns,omitempty"`
	// Columns are those to keep of another file; Values is the file of columns that the request contained.
	Columns  []string `json:"columns,omitempty"`
	Values   string   `json:"values,omitempty"`
	Column   string   `json:"column,omitempty"`
	IDColumn string   `json:"id_column,omitempty"`
	Header   string   `json:"header,omitempty"`
	// Like are the names of the coordinates of the rows that there are before these.
	Like    []string `json:"like,omitempty"`
	FindIDs bool     `json:"find_ids,omitempty"` // a column called id holds no coordinates, whether its ids are used or not
	// IgnoreIDs says that such a column is not read.
	IgnoreIDs bool   `json:"ignore_ids,omitempty"`
	Keys      string `json:"keys,omitempty"` // file of ids, for rows without an id column
}

// options returns how the rows are read.
func (c *Catalog) options(o *origin) *dataset.Options {
	budget := dataset.Budget{}
	if c.o.Budget != nil {
		budget = *c.o.Budget
	}
	budget.IDBytes, budget.IDWord = int64(c.o.MaxIDBytes), "the service"
	return &dataset.Options{Budget: &budget, Column: o.Column, IDs: o.IDColumn, FindIDs: o.FindIDs, IgnoreIDs: o.IgnoreIDs, Header: o.Header, Except: o.except(), Like: o.Like, DenseLimit: c.o.DenseLimit,
		Words: dataset.Words{Column: "column", Header: "header", DenseLimit: "the setting dense_limit", IDs: "ids"}}
}

// except are the columns that hold no coordinates, because they are kept.
func (o *origin) except() []string {
	if slices.Equal(o.Columns, []string{columns.All}) {
		return nil
	}
	return o.Columns
}

// failure is a problem as recorded.
type failure struct {
	Kind   problem.Kind `json:"kind"`
	Detail string       `json:"detail"`
	Field  string       `json:"field,omitempty"`
	Index  int          `json:"index"`
}

func newFailure(p *problem.Problem) *failure { return &failure{p.Kind, p.Error(), p.Field, p.Index} }

func (f *failure) problem() *problem.Problem {
	if f == nil {
		return nil
	}
	return problem.New(f.Kind, "%s", f.Detail).At(f.Field, f.Index)
}

// Files of a version in the catalog's folder.
func (ch *change) data() string { return ch.Base + ".thresher" }
func (ch *change) ids() string  { return ch.Base + ".ids" }

// sources returns the files that a version is built from, which are removed once it is ready.
func (ch *change) sources() []string {
	var all []string
	if ch.Drop != "" {
		all = append(all, ch.Drop)
	}
	if ch.Rows != nil {
		for _, name := range []string{ch.Rows.File, ch.Rows.Keys, ch.Rows.Values} {
			if name != "" {
				all = append(all, name)
			}
		}
	}
	return all
}

// files returns all files that a version can have, the mark of deletion last.
func (ch *change) files() []string {
	all := append(ch.sources(), ch.data(), ch.ids(), ch.columns())
	if ch.Folder {
		all = append(all, ch.folder())
	}
	return append(all, ch.manifest(), ch.deletedManifest())
}

// Schema is that of the catalog's records.
func Schema() store.Schema {
	return store.Schema{Root: rootBucket, Buckets: []store.Entries{
		{Name: namesBucket, Check: checkNamed}, {Name: retiredBucket, Check: checkRetired}, {Name: numbersBucket, Check: checkNumber},
		{Name: pinsBucket, Check: checkPin}, {Name: keysBucket, Check: store.CheckKey},
	}}
}

// bucket returns one of the schema's buckets.
func bucket(tx *bbolt.Tx, name string) *bbolt.Bucket {
	return store.Bucket(tx, rootBucket, name)
}

// named is the record of a collection with its name.
type named struct {
	name string
	record
}

func readNamed(key, text []byte) (named, error) {
	n := named{name: string(key)}
	return n, store.ReadJSON("collection "+clip(n.name), text, &n.record)
}

// eachNamed visits the records of all collections.
func eachNamed(tx *bbolt.Tx) iter.Seq2[named, error] {
	return store.Each(bucket(tx, namesBucket), readNamed)
}

func putRecord(tx *bbolt.Tx, name string, r record) error {
	return store.PutJSON(bucket(tx, namesBucket), []byte(name), r)
}

// lastNumber returns the greatest version that a name has used, 0 if none.
func lastNumber(tx *bbolt.Tx, name string) int64 {
	last := bucket(tx, numbersBucket).Get([]byte(name))
	if last == nil {
		return 0
	}
	return int64(store.Number(last))
}

// useNumber records that a name has used a version number.
func useNumber(tx *bbolt.Tx, name string, version int64) error {
	if version <= lastNumber(tx, name) {
		return nil
	}
	return bucket(tx, numbersBucket).Put([]byte(name), store.Key(uint64(version)))
}

// checkNamed returns what is wrong with the record of a collection.
func checkNamed(key, text []byte) error {
	n, err := readNamed(key, text)
	if err == nil && n.record == (record{}) {
		err = errors.New("it has no version")
	}
	return errors.Join(err, checkName(n.name), n.Ready.check(), n.Next.check(), n.Failed.check())
}

// checkNumber returns what is wrong with the last number that a name has used.
func checkNumber(name, number []byte) error {
	if !store.IsNumber(number) {
		return errors.New("it is no number of a version")
	}
	return checkName(string(name))
}

// check returns what is wrong with a version's record, which may be nil.
func (ch *change) check() error {
	if ch != nil && (ch.Version < 1 || ch.Base == "") {
		return fmt.Errorf("it describes version %d with files %q", ch.Version, ch.Base)
	}
	return nil
}

// versionKey is the key of one version of a name.
func versionKey(name string, version int64) []byte {
	return store.JoinKey(name, string(store.Key(uint64(version))))
}

// cutVersionKey splits a versionKey.
func cutVersionKey(key []byte) (name string, version int64, err error) {
	if len(key) < 9 || key[len(key)-9] != 0 {
		return "", 0, errors.New("record of a version without a number")
	}
	return string(key[:len(key)-9]), int64(store.Number(key[len(key)-8:])), nil
}
