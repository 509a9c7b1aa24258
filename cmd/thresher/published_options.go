package main

import (
	"strings"

	"thresher/batch"
	"thresher/config"
)

// publishedOptions returns the options of the published methods that a flag, a variable or the configuration file
// names.
func publishedOptions(c *config.Config) (p batch.Published, err error) {
	for _, key := range batch.PublishedNames() {
		if c.Origin(key).Kind == config.FromDefault {
			continue
		}
		if err := p.Set(key, c.Published[key]); err != nil {
			return p, err
		}
	}
	return p, nil
}

// publishedFlag is the flag of a field of a request that is such an option.
func publishedFlag(field string) (string, bool) { return strings.CutPrefix(field, "published.") }
