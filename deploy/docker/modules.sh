#!/bin/sh
# modules.sh: downloads the Go modules of go.sum, in a separate layer.
set -eu
cd "$(dirname "$0")/../.."
go mod download
go mod verify
