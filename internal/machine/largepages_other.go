//go:build !linux

package machine

func (s span) ask(bool) bool { return false }
