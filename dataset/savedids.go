package dataset

import (
	"archive/zip"
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
)

// SavedIDsSuffix is what the name of a prepared collection is followed by in the name of the file of its ids, which
// the Python package and the Go library write beside it.
const SavedIDsSuffix = ".ids.npz"

// SavedIDsArray is the array of the ids in that file. The other, collection, has a digest of the collection's header.
const SavedIDsArray = "ids"

// savedHeader is how many bytes at the start of a collection the digest is of.
const savedHeader = 1 << 14

// SavedIDs reads the ids of the n atoms of the prepared collection at path from the file that lies beside it, by row;
// nil if there is none. Ids of another collection, twice the same, or of another number are an error. Errors
// are of type *Error.
func SavedIDs(path string, n int) ([]string, error) {
	name := path + SavedIDsSuffix
	src, err := openSource(name, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer src.Close()
	entries, err := listNPZ(src)
	if err != nil {
		return nil, err
	}
	if err := ofCollection(src, entries, path); err != nil {
		return nil, err
	}
	e, err := chooseArray(name, entries, []string{SavedIDsArray})
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, fail(name, "npz holds no array %s; it holds %s", SavedIDsArray, listed(entryNames(entries)))
	}
	ids, err := e.ids(src, n)
	if err != nil {
		return nil, err
	}
	if err := CheckIDs(name, ids); err != nil {
		return nil, err
	}
	return ids, CheckUnique(name, ids)
}

// ofCollection refuses ids that were not saved with the collection at path.
func ofCollection(src *source, entries []npzEntry, path string) error {
	name := src.name
	e, err := chooseArray(name, entries, []string{"collection"})
	if err != nil {
		return err
	}
	if e == nil {
		return fail(name, "npz holds no array collection, which says whose ids these are; it holds %s", listed(entryNames(entries)))
	}
	said, err := e.text(src)
	if err != nil {
		return located(name+":collection", -1, err)
	}
	digest, err := headerDigest(path)
	if err != nil {
		return err
	}
	if digest != said {
		return fail(name, "has the ids of another collection than %s; save both again, or move this file away to use row numbers", path)
	}
	return nil
}

// headerDigest returns the SHA-256, in hexadecimal, of the header of the collection at path.
func headerDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", located(path, -1, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, savedHeader)); err != nil {
		return "", located(path, -1, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// ids reads an array of n ids.
func (e *npzEntry) ids(src *source, n int) ([]string, error) {
	a := e.array(src)
	if len(e.header.shape) != 1 || e.header.shape[0] != int64(n) {
		return nil, fail(a.name, "ids are one an atom, an array of shape (%d,); this one's is %v", n, e.header.shape)
	}
	if err := a.checkIDs(); err != nil {
		return nil, located(a.name, -1, err)
	}
	if err := a.open(src, e); err != nil {
		return nil, err
	}
	var ids []string
	for row := range n {
		id, err := a.id()
		if err != nil {
			return nil, failAt(a.name, int64(row), -1, "%w", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// WriteSavedIDs writes the ids of the prepared collection at path, one an atom, as the file that lies beside it has
// them: as int64 while all are whole numbers that fit, else as uint64 if all are whole numbers, else as texts.
func WriteSavedIDs(out io.Writer, path string, ids []string) error {
	if err := CheckIDs(path, ids); err != nil {
		return err
	}
	if err := CheckUnique(path, ids); err != nil {
		return err
	}
	digest, err := headerDigest(path)
	if err != nil {
		return err
	}
	var form idForm
	for _, id := range ids {
		form.see(id)
		form.texts = form.texts || id == noID
	}
	descr, texts := "<i8", 0
	switch {
	case form.texts:
		texts = max(1, form.length)
		descr = "<U" + strconv.Itoa(texts)
	case form.wide:
		descr = "<u8"
	}
	z := zip.NewWriter(out)
	err = writeSaved(z, SavedIDsArray, appendNPYHeader(nil, descr, int64(len(ids))), ids, texts)
	if err == nil {
		err = writeSaved(z, "collection", appendNPYHeader(nil, "<U"+strconv.Itoa(len(digest))), []string{digest}, len(digest))
	}
	if err != nil {
		return err
	}
	return z.Close()
}

// noID stands for no atom among uint64.
const noID = "18446744073709551615"

// writeSaved writes an array of texts of that many code points, or of whole numbers if that is 0.
func writeSaved(z *zip.Writer, array string, header []byte, ids []string, texts int) error {
	entry, err := z.CreateHeader(npzHeader(array))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(entry, npzBuffer)
	row := header
	for _, id := range ids {
		if texts == 0 {
			x, _ := strconv.ParseUint(id, 10, 64)
			row = binary.LittleEndian.AppendUint64(row, x)
		} else {
			row = appendCodePoints(row, id, texts)
		}
		if _, err := w.Write(row); err != nil {
			return err
		}
		row = row[:0]
	}
	if _, err := w.Write(row); err != nil { // the header, without ids
		return err
	}
	return w.Flush()
}

// appendCodePoints appends a text as numpy has it, padded to a number of code points.
func appendCodePoints(dst []byte, text string, length int) []byte {
	for _, c := range text {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(c))
		length--
	}
	return append(dst, make([]byte, 4*length)...)
}
