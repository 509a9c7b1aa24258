package service

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"thresher/service/api"
	"thresher/service/files"
	"thresher/service/problem"
)

// formOverhead bounds what a multipart form contains besides its file, in bytes.
const formOverhead = 64 << 10

// maxPurpose bounds the text of the field purpose, in bytes.
const maxPurpose = 64

// defaultPurpose is the purpose of a file whose form names none.
const defaultPurpose = "batch"

func (s *Server) postFile(r *request, w http.ResponseWriter) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	if mediaType(r.Request) != "multipart/form-data" {
		return unsupported(r.Request, "multipart/form-data")
	}
	body, err := s.bodyOf(r.Request, s.o.Limits.Upload+formOverhead)
	if err != nil {
		return err
	}
	_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // mediaType has parsed it
	if params["boundary"] == "" {
		return problem.New(problem.Malformed, "the Content-Type of the form has no boundary").In("Content-Type")
	}
	u := &fileForm{store: s.files, maker: r.x.who}
	defer u.close()
	if err := u.read(r.Context(), multipart.NewReader(body, params["boundary"])); err != nil {
		return err
	}
	f, err := u.staged.Keep(u.name, cmp.Or(u.purpose, defaultPurpose), key)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/files/"+f.ID)
	return writeJSON(w, http.StatusOK, f.View())
}

// fileForm is the form of an upload, whose parts may come in any order: the file is stored
// while it arrives, and kept only if the whole form is valid.
type fileForm struct {
	store   *files.Store
	maker   string // the name of the token
	purpose string // "" until it is read
	name    string
	staged  *files.Staged // nil until there is a file
}

// close discards the file unless it was kept.
func (u *fileForm) close() {
	if u.staged != nil {
		u.staged.Discard()
	}
}

// read reads the form to its end.
func (u *fileForm) read(ctx context.Context, form *multipart.Reader) error {
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return badForm(err)
		}
		if err := u.part(ctx, part); err != nil {
			return err
		}
	}
	if u.staged == nil {
		return problem.New(problem.InvalidValue, "the form has no field file").In("file")
	}
	return nil
}

// part reads one part.
func (u *fileForm) part(ctx context.Context, part *multipart.Part) (err error) {
	name := part.FormName()
	switch {
	case name != "purpose" && name != "file":
		return unknownPart(part)
	case name == "purpose" && u.purpose != "", name == "file" && u.staged != nil:
		return problem.New(problem.InvalidValue, "the form has the field %s twice", name).In(name)
	case name == "purpose":
		u.purpose, err = readPurpose(part)
		return err
	}
	u.name = part.FileName()
	if u.staged, err = u.store.Stage(ctx, formPart{part}); err == nil {
		u.staged.Maker = u.maker
	}
	return err
}

func unknownPart(part *multipart.Part) error {
	return problem.New(problem.UnknownField, "the form has no field %q", part.FormName()).In(part.FormName()).Within([]string{"purpose", "file"})
}

func readPurpose(part *multipart.Part) (string, error) {
	text, err := io.ReadAll(io.LimitReader(part, maxPurpose+1))
	if err != nil {
		return "", badForm(err)
	}
	if !plain(string(text), maxPurpose) {
		return "", problem.New(problem.InvalidValue, "a purpose is 1 to %d letters, digits, dots, dashes and underscores", maxPurpose).In("purpose").Within(maxPurpose)
	}
	return string(text), nil
}

// formPart is the content of a form's file. Its errors are problems, to distinguish them from
// those of the disk.
type formPart struct{ *multipart.Part }

func (p formPart) Read(b []byte) (int, error) {
	n, err := p.Part.Read(b)
	if err != nil && err != io.EOF {
		err = badForm(err)
	}
	return n, err
}

// badForm returns the problem of a form that cannot be read, by its content or its transfer.
func badForm(err error) error {
	var p *problem.Problem
	if errors.As(err, &p) {
		return err
	}
	return problem.New(problem.Malformed, "the form cannot be read: %v", err).Because(err)
}

func (s *Server) listFiles(r *request, w http.ResponseWriter) error {
	after, err := r.params.parseText("after")
	if err != nil {
		return err
	}
	limit, err := r.params.parseInt("limit", 1, maxFiles, maxFiles)
	if err != nil {
		return err
	}
	purpose, err := r.params.parseText("purpose")
	if err != nil {
		return err
	}
	if order, err := r.params.parseText("order"); err != nil || r.params.Has("order") && order != "desc" {
		return problem.New(problem.InvalidValue, "order is %q; files are listed newest first", order).In("order").Within([]string{"desc"})
	}
	list, more, err := s.files.List(after, limit, purpose, func(f files.File) bool { return s.maySee(r, f.Maker) })
	if err != nil {
		return err
	}
	views := make([]api.File, len(list))
	for i, f := range list {
		views[i] = f.View()
	}
	return writeJSON(w, http.StatusOK, api.NewPage(views, more, func(f *api.File) string { return f.ID }))
}

// maxFiles bounds the page of the list of files.
const maxFiles = 1000

func (s *Server) getFile(r *request, w http.ResponseWriter) error {
	f, err := s.fileOf(r)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, f.View())
}

// fileOf returns the file that a request names, unless its client may not see it.
func (s *Server) fileOf(r *request) (files.File, error) {
	id := r.PathValue("id")
	f, err := s.files.Get(id)
	if err == nil && !s.maySee(r, f.Maker) {
		return files.File{}, files.Unknown(id)
	}
	return f, err
}

// getContent sends a file, or the requested ranges of it.
func (s *Server) getContent(r *request, w http.ResponseWriter) error {
	if _, err := s.fileOf(r); err != nil {
		return err
	}
	content, f, err := s.files.Open(r.PathValue("id"))
	if err != nil {
		return err
	}
	defer content.Close()
	h := w.Header()
	h.Set("Content-Type", binType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
	h.Set("ETag", `"`+f.SHA256+`"`)
	h.Set("Cache-Control", "private, no-cache")
	http.ServeContent(w, r.Request, "", f.CreatedAt, content)
	return nil
}

func (s *Server) deleteFile(r *request, w http.ResponseWriter) error {
	id := r.PathValue("id")
	if err := s.files.Delete(id); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.Deleted{ID: id, Object: "file", Deleted: true})
}
