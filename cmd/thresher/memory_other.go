//go:build !unix

package main

func freeAddresses() (int64, bool) { return 0, false }

func boundHeap() {}
