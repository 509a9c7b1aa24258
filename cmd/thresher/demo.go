package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newDemoCommand(_ *app) *cobra.Command {
	return &cobra.Command{
		Use:    "demo",
		Short:  "Search the doc comments of Go's standard library",
		Hidden: true,
		RunE:   func(*cobra.Command, []string) error { return errors.New("the demo is not part of this build") },
	}
}
