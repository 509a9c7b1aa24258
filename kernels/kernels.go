package kernels

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed ptx/manifest.json ptx/*.ptx ptx/cubins/*.zip
var tree embed.FS

// embedded is what kernels/toolchain made of the sources: manifest.json, *.ptx and cubins/*.zip.
var embedded, _ = fs.Sub(tree, "ptx") // the only possible error is an invalid path

const manifestFile = "manifest.json"

// manifest is the content of manifest.json: every module and how it was compiled.
type manifest struct {
	Compiler  string   `json:"compiler"`  // name and version
	Flags     []string `json:"flags"`     // the same for every module
	Assembler string   `json:"assembler"` // name and version
	Modules   []module `json:"modules"`   // by name
}

// module is one PTX file.
type module struct {
	Name string `json:"name"` // of the file, without its extension

	// Sources are the .cu file, followed by the headers it includes, sorted by name.
	// SourcesSHA256 is the hash of the lines that `sha256sum` prints for them. Both hashes
	// are in hexadecimal.
	Sources       []string `json:"sources"`
	SourcesSHA256 string   `json:"sources_sha256"`
	PTXSHA256     string   `json:"ptx_sha256"`

	PTXVersion string     `json:"ptx_version"` // which drivers must support, such as 8.0
	Entries    []ptxEntry `json:"entries"`     // in the order of the file

	// CubinsSHA256 are the hashes of the code assembled from the PTX, by the GPUs it is for, such as sm_90.
	CubinsSHA256 map[string]string `json:"cubins_sha256"`
}

// ptxEntry is a kernel that can be launched. Its name is unique among all modules.
type ptxEntry struct {
	Name   string     `json:"name"`
	Params []ptxParam `json:"params"` // of at most 8 bytes each
}

// ptxParam is a parameter as the source declares it.
type ptxParam struct {
	Name string `json:"name"`
	Type string `json:"type"` // such as "const float*"
}

// Names returns the names of the modules, sorted.
func Names() []string {
	files, _ := fs.Glob(embedded, "*.ptx") // the only possible error is a bad pattern
	for i, f := range files {
		files[i] = strings.TrimSuffix(f, ".ptx")
	}
	return files
}

// PTX returns the text of a module, without the zero byte that cuModuleLoadData needs at the
// end. It fails if the manifest does not list the module, or if its hash is not that of the
// embedded file. The caller owns the bytes.
func PTX(name string) ([]byte, error) { return readPTX(embedded, name) }

func readManifest(fsys fs.FS) (manifest, error) {
	text, err := fs.ReadFile(fsys, manifestFile)
	if err != nil {
		return manifest{}, fmt.Errorf("kernels: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var s manifest
	if err := d.Decode(&s); err != nil {
		return manifest{}, fmt.Errorf("kernels: %s: %w", manifestFile, err)
	}
	return s, nil
}

func readPTX(fsys fs.FS, name string) ([]byte, error) {
	m, err := readModule(fsys, name)
	if err != nil {
		return nil, err
	}
	return readListed(fsys, name+".ptx", m.PTXSHA256)
}

// readModule returns a module's entry in the manifest.
func readModule(fsys fs.FS, name string) (module, error) {
	s, err := readManifest(fsys)
	if err != nil {
		return module{}, err
	}
	at := slices.IndexFunc(s.Modules, func(m module) bool { return m.Name == name })
	if at < 0 {
		return module{}, fmt.Errorf("kernels: %s lists no module %q", manifestFile, name)
	}
	return s.Modules[at], nil
}

// readListed returns a file whose hash must be want.
func readListed(fsys fs.FS, file, want string) ([]byte, error) {
	content, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, fmt.Errorf("kernels: %w", err)
	}
	if err := checkSum(file, content, want); err != nil {
		return nil, err
	}
	return content, nil
}

// checkSum returns an error if the hash of a file's content is not want.
func checkSum(file string, content []byte, want string) error {
	sum := sha256.Sum256(content)
	if got := hex.EncodeToString(sum[:]); got != want {
		return fmt.Errorf("kernels: %s has SHA-256 %s, %s lists %s", file, got, manifestFile, want)
	}
	return nil
}
