package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thresher/batch"
	"thresher/config"
	"thresher/tasks"
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

// checkPublished refuses a method, and options of published methods from any source, that a verb does not take. The error
// names the flag.
func checkPublished(verb string, c *config.Config, m batch.Method) error {
	published, err := publishedOptions(c)
	if err != nil {
		return err
	}
	var e *batch.RequestError
	if err := tasks.CheckPublished(verb, m, &published); errors.As(err, &e) {
		name := e.Field
		if option, ok := publishedFlag(name); ok {
			name = option
		}
		return fmt.Errorf("%s: --%s: %w", verb, name, e.Err)
	}
	return nil
}

// refusePublishedFlags makes a command that has no flags of published methods say so, and which commands have.
func refusePublishedFlags(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) && slices.Contains(batch.PublishedNames(), unknown.GetSpecifiedName()) {
			err = fmt.Errorf("there is no --%s here: it is an option of published methods, which %s take", unknown.GetSpecifiedName(), tasks.PublishedIn())
		}
		return cmd.Root().FlagErrorFunc()(cmd, err)
	})
}
