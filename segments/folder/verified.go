package folder

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// verifiedName is the file in which those who only read a folder, and so do not write its manifest, remember which segments they have
// verified. It may be missing, stale or damaged: what it does not say of a file as it is now is verified again.
const verifiedName = "verified.json"

// readVerified returns which files of the folder at path readers have verified, by name.
func readVerified(path string) map[string]verified {
	b, err := os.ReadFile(filepath.Join(path, verifiedName))
	if err != nil {
		return nil
	}
	var files map[string]verified
	if json.Unmarshal(b, &files) != nil {
		return nil
	}
	return files
}

// rememberVerified writes what a reader has verified beside the manifest. A folder that cannot be written is verified again the next time.
func (f *Folder) rememberVerified() {
	if !f.unsaid {
		return
	}
	now := map[string]verified{}
	for _, e := range f.entries {
		if e.Verified != nil {
			now[e.file()] = *e.Verified
		}
	}
	if b, err := json.Marshal(now); err == nil {
		_ = writeFile(files{}, filepath.Join(f.path, verifiedName), append(b, '\n'))
	}
}
