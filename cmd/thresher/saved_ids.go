package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"thresher/collection"
	"thresher/dataset"
)

// savedIDs reads the ids of the n atoms of a prepared collection from the file that lies beside it, and returns what
// --ids calls them; nil and "" if there is no such file.
func (in input) savedIDs(n int) (names *dataset.IDs, column string, err error) {
	names, err = dataset.SavedIDs(in.path, n)
	if err != nil || names == nil {
		return nil, "", in.named(err)
	}
	return names, dataset.SavedIDsArray, nil
}

// idsKept reads rows and keeps their ids.
type idsKept struct {
	dataset.Reader
	in  input
	ids dataset.IDsBuilder // of the rows read
}

// Read implements dataset.Reader. After the last row it refuses ids that are wrong or occur twice, so that
// nothing is made of such rows.
func (k *idsKept) Read(dst []float32) (int, error) {
	return k.note(k.Reader.Read(dst))
}

// note keeps the ids of n rows that were read.
func (k *idsKept) note(n int, err error) (int, error) {
	for _, id := range k.Reader.IDs() {
		k.ids.Add(id)
	}
	if err == io.EOF {
		if err := k.in.checkIDs(k.ids.IDs()); err != nil {
			return n, dataset.Placed(k.Reader, err)
		}
	}
	return n, err
}

// source returns the rows in the type in which they are kept, of float64 in wide.
func (k *idsKept) source(wide dataset.Elem) collection.Source {
	if typed, ok := dataset.KeptAs(k.Reader, wide); ok {
		return keptTyped{k, typed}
	}
	return k
}

// keptTyped are rows that are kept in another type than float32.
type keptTyped struct {
	*idsKept
	typed dataset.TypedReader
}

func (r keptTyped) Elem() dataset.Elem { return r.typed.Elem() }

// ReadTyped is that of dataset.TypedReader.
func (r keptTyped) ReadTyped(dst []byte) (int, error) { return r.note(r.typed.ReadTyped(dst)) }

// kept are the ids of the rows; nil if they have none.
func (k *idsKept) kept() *dataset.IDs {
	if k.ids.Len() == 0 {
		return nil
	}
	return k.ids.IDs()
}

// Origin and Change are what collection.Rounded asks for.
func (k *idsKept) Origin() []float64      { return dataset.OriginOf(k.Reader) }
func (k *idsKept) Change() dataset.Change { return dataset.ChangeOf(k.Reader) }

// hasSavedIDs reports whether column is what --ids calls ids that lie beside a prepared collection.
func (in input) hasSavedIDs(column string) bool {
	_, err := os.Stat(in.path + dataset.SavedIDsSuffix)
	return err == nil && column == dataset.SavedIDsArray
}

// hashSavedIDs returns the SHA-256, in hexadecimal, of the file of ids beside a prepared collection, which answers
// name; "" if there is none.
func (in input) hashSavedIDs(ctx context.Context) (string, error) {
	if !in.isCollection() {
		return "", nil
	}
	beside := in
	beside.path, beside.name = in.path+dataset.SavedIDsSuffix, in.name+dataset.SavedIDsSuffix
	hash, err := beside.hash(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return hash, err
}

// checkIDs refuses ids that cannot name the vectors in answers.
func (in input) checkIDs(ids *dataset.IDs) error {
	return cmp.Or(in.checkNames(ids), dataset.CheckUnique(in.name, ids))
}

// checkNames is checkIDs of ids several of which may be the same. Those of a folder were accepted when they were written.
func (in input) checkNames(ids *dataset.IDs) error {
	if in.folder != nil {
		return dataset.CheckKept(in.name, ids)
	}
	return dataset.CheckIDs(in.name, ids)
}
