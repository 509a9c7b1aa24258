package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"thresher/dataset"
)

// savedIDs reads the ids of the n atoms of a prepared collection from the file that lies beside it, and returns what
// --ids calls them; nil and "" if there is no such file.
func (in input) savedIDs(n int) (names []string, column string, err error) {
	names, err = dataset.SavedIDs(in.path, n)
	if err != nil || names == nil {
		return nil, "", in.named(err)
	}
	return names, dataset.SavedIDsArray, nil
}

// idsKept reads rows and keeps their ids.
type idsKept struct {
	dataset.Reader
	file string   // as shown in messages
	ids  []string // of the rows read; nil if they have none
}

// Read implements dataset.Reader. After the last row it refuses ids that are wrong or occur twice, so that
// nothing is made of such rows.
func (k *idsKept) Read(dst []float32) (int, error) {
	n, err := k.Reader.Read(dst)
	k.ids = append(k.ids, k.Reader.IDs()...)
	if err == io.EOF {
		if err := checkIDs(k.file, k.ids); err != nil {
			return n, err
		}
	}
	return n, err
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

// checkIDs refuses ids that cannot name the rows of a file in answers.
func checkIDs(file string, ids []string) error {
	if err := dataset.CheckIDs(file, ids); err != nil {
		return err
	}
	return dataset.CheckUnique(file, ids)
}
