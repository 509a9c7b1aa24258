package dataset

import (
	"fmt"
)

// npzGuarantee is the dtype of the array guarantee: names of at most mostGuarantee ASCII characters.
const (
	npzGuarantee  = "<U13"
	mostGuarantee = 13
)

// checkGuarantee refuses what is no name of a guarantee.
func checkGuarantee(name string) error {
	if len(name) > mostGuarantee {
		return fmt.Errorf("guarantee %.40q is longer than %d characters", name, mostGuarantee)
	}
	for _, r := range name {
		if r < ' ' || r > '~' {
			return fmt.Errorf("guarantee %q is not ASCII", name)
		}
	}
	return nil
}

// appendGuarantee appends a name as an element of the array.
func appendGuarantee(dst []byte, name string) []byte { return appendUCS4(dst, name, mostGuarantee) }
