package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"thresher/dataset"
)

// dtypeFlag is the flag --dtype: the type in which values given in float64 are kept.
type dtypeFlag struct{ dataset.Elem }

func (f *dtypeFlag) add(fs *pflag.FlagSet) {
	fs.Var(f, "dtype", "how float64 is kept: float32 = rounded, which answers state, float64 = as given (8 bytes a value, on the CPU)")
}

// Set implements pflag.Value.
func (f *dtypeFlag) Set(name string) error {
	e, err := dataset.ParseElem(name)
	if err != nil || e != dataset.ElemFloat32 && e != dataset.ElemFloat64 {
		return fmt.Errorf("%q is none of %v, %v", name, dataset.ElemFloat32, dataset.ElemFloat64)
	}
	f.Elem = e
	return nil
}

// Type implements pflag.Value.
func (f *dtypeFlag) Type() string { return "name" }

// folderDtype is the flag --dtype of build, which says in which type a folder keeps vectors, too.
type folderDtype struct {
	dtypeFlag
	given bool
}

func (f *folderDtype) add(fs *pflag.FlagSet) {
	fs.Var(f, "dtype", "how float64 is kept: float32 = rounded, which answers state, float64 = as given (8 bytes a value, on the CPU); of a folder the type of its vectors, also float16, bfloat16, int8, uint8 (default: that of the file, float32 for float64)")
}

// Set implements pflag.Value.
func (f *folderDtype) Set(name string) (err error) {
	f.Elem, err = dataset.ParseElem(name)
	f.given = err == nil
	return err
}

// checkFile refuses types that only a folder asks for.
func (f *folderDtype) checkFile() error {
	if f.Elem != dataset.ElemFloat32 && f.Elem != dataset.ElemFloat64 {
		return fmt.Errorf("--dtype %v: only for a folder, --out NAME/; a file keeps the type that the vectors are given in, and of %v or %v float64", f.Elem, dataset.ElemFloat32, dataset.ElemFloat64)
	}
	return nil
}
