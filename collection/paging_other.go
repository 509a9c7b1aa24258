//go:build !linux

package collection

import "os"

// Elsewhere it is left to the system which pages it keeps.

func startWriting(*os.File, int64, int64) {}

func dropPages(*os.File, int64, int64, []byte) {}

func startReading([]byte) {}

func startReadingFile(*os.File, int64, int64) {}

func expectRandom([]byte) {}

func expectRandomReads(*os.File) {}
