package db

import (
	"encoding/json"

	"go.etcd.io/bbolt"
)

// PutJSON records v as JSON.
func PutJSON(b *bbolt.Bucket, key []byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Put(key, text)
}
