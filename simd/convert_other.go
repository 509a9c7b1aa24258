//go:build !amd64 || noasm || purego

package simd

// widen converts no entries: there is no assembly.
func (Kernels) widen([]float64, []float32, float64) int { return 0 }

// narrow converts no entries: there is no assembly.
func (Kernels) narrow([]float32, []float64, float64) int { return 0 }

func (Kernels) halves([]float32, []uint16) int { return 0 }

func (Kernels) upperHalves([]float32, []uint16) int { return 0 }

func (Kernels) signed([]float32, []uint8) int { return 0 }

func (Kernels) unsigned([]float32, []uint8) int { return 0 }
