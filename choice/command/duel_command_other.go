//go:build !unix

package command

import "os/exec"

// killTogether leaves cmd as it is: the end of its context kills cmd alone.
func killTogether(*exec.Cmd) {}
