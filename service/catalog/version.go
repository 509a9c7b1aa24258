package catalog

import (
	"context"

	"thresher/batch"
)

// Version is one use of a version. Its methods must not be called after Release.
type Version struct{ o *opened }

// opened is a version that can be searched.
type opened struct{}

// Info describes the version as it is now.
func (v *Version) Info() Info { return Info{} }

// Dim is the dimension of its rows, Len their number.
func (v *Version) Dim() int { return 0 }
func (v *Version) Len() int { return 0 }

// Search answers req together with others that are asked at the same time.
func (v *Version) Search(ctx context.Context, req batch.Request) (*batch.Response, error) {
	return nil, errUnwritten
}

// Direct answers req by itself, for large requests.
func (v *Version) Direct(ctx context.Context, req batch.Request) (*batch.Response, error) {
	return nil, errUnwritten
}

// Row returns row number i as given, 0 <= i < Len(); it must not be written, nor
// read after Release.
func (v *Version) Row(i int64) []float32 { return nil }

// IDs are what the rows are called. They may be used after Release.
func (v *Version) IDs() *IDs { return nil }

// Release ends the use. Releasing twice is allowed.
func (v *Version) Release() {}
