//go:build !unix

package machine

func freeAddresses() (int64, bool) { return 0, false }

func freeData() (int64, bool) { return 0, false }
