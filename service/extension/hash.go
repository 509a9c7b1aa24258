package extension

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Hash returns a hash of a list of texts; different lists have different hashes.
func Hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil))
}
