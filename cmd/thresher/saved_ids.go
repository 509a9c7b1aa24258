package main

import (
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

// hasSavedIDs reports whether column is what --ids calls ids that lie beside a prepared collection.
func (in input) hasSavedIDs(column string) bool {
	_, err := os.Stat(in.path + dataset.SavedIDsSuffix)
	return err == nil && column == dataset.SavedIDsArray
}

// checkIDs refuses ids that cannot name the rows of a file in answers.
func checkIDs(file string, ids []string) error {
	if err := dataset.CheckIDs(file, ids); err != nil {
		return err
	}
	return dataset.CheckUnique(file, ids)
}
