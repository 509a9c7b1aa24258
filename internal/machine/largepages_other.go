//go:build !linux

package machine

func (s addresses) ask(bool) bool { return false }
