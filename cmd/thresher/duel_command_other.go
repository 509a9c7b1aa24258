//go:build !unix

package main

import "os/exec"

// killTogether leaves cmd as it is: the end of its context kills cmd alone.
func killTogether(*exec.Cmd) {}
