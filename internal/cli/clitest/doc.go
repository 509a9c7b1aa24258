// Package clitest runs commands in tests, with what they read and write.
package clitest
