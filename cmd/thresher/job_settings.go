package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// jobSettings are all inputs and settings that determine what a job writes, by their names for users, as its fingerprint:
// another run of the job can say what differs.
type jobSettings map[string]string

// contentPrefix begins the hashes of files, which say nothing to a reader.
const contentPrefix = "sha256:"

// set sets what a flag says, "" for nothing.
func (s jobSettings) set(flag, value string) {
	if value != "" {
		s["--"+flag] = value
	}
}

// setFile sets a file by the hash of its contents, "" for no file.
func (s jobSettings) setFile(name, hash string) {
	if hash != "" {
		s[name] = contentPrefix + hash
	}
}

// fingerprint is the settings as JSON, sorted by name.
func (s jobSettings) fingerprint() (string, error) {
	text, err := json.Marshal(s)
	return string(text), err
}

// differences says which settings of two fingerprints differ, those of the recorded one first: "--terms 5, not 6", for
// instance; "" if they are not both of jobSettings.
func differences(recorded, wanted string) string {
	var before, now jobSettings
	if json.Unmarshal([]byte(recorded), &before) != nil || json.Unmarshal([]byte(wanted), &now) != nil {
		return ""
	}
	names := maps.Clone(before)
	maps.Copy(names, now)
	var said []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, is := before[name], now[name]
		switch {
		case was == is:
		case strings.HasPrefix(was, contentPrefix) && strings.HasPrefix(is, contentPrefix):
			said = append(said, fmt.Sprintf("other contents of %s", name))
		case strings.HasPrefix(was, contentPrefix) || strings.HasPrefix(is, contentPrefix):
			said = append(said, fmt.Sprintf("another %s", name))
		case was == "":
			said = append(said, fmt.Sprintf("no %s, not %s", name, is))
		case is == "":
			said = append(said, fmt.Sprintf("%s %s, not without", name, was))
		default:
			said = append(said, fmt.Sprintf("%s %s, not %s", name, was, is))
		}
	}
	return strings.Join(said, "; ")
}
