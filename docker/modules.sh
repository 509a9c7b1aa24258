#!/bin/sh
# modules.sh: the Go modules of go.sum, a layer of their own.
set -eu
cd "$(dirname "$0")/.."
go mod download
go mod verify
