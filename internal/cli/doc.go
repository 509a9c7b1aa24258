// Package cli holds what any command of the command line needs: its streams and settings, exit codes, the
// root command and its errors, tables, progress, texts that are safe to print, outputs, and the memory that
// work may take. Package clitest runs commands in tests.
//
// It knows package config alone, so that a group of commands that searches nothing does not depend on the
// engine.
package cli
