package service

import (
	"context"
	"io/fs"
	"slices"

	"thresher/service/backup"
	"thresher/service/catalog"
	"thresher/service/extension"
	"thresher/service/files"
	"thresher/service/offline"
	"thresher/store"
)

// Extensions are what a data folder holds and a server serves beside collections, files and offline jobs. Each
// value serves one server.
type Extensions []extension.Extension

// folders are the folders of files of the extensions.
func (x Extensions) folders() (all []backup.Folder) {
	for _, one := range x {
		if f := one.Data().Folder; f.Name != "" {
			all = append(all, f)
		}
	}
	return all
}

// databases are the names of the extensions' databases beside the service's own.
func (x Extensions) databases() (all []string) {
	for _, one := range x {
		if name := one.Data().Name; name != "" {
			all = append(all, name)
		}
	}
	return all
}

// checksOf returns the checks of the records of a database.
func (x Extensions) checksOf(name string) []store.CheckRecord {
	all := []store.CheckRecord{topLevel, catalog.Schema().CheckRecord, files.Schema().CheckRecord, offline.Schema().CheckRecord}
	for _, one := range x {
		d := one.Data()
		if d.Name == name {
			return []store.CheckRecord{d.Of}
		}
		if d.Records != nil {
			all = append(all, d.Records)
		}
	}
	return all
}

// mended completes a database, at path, that was rebuilt from what could be read of it.
func (x Extensions) mended(name, path string) error {
	for _, one := range x {
		if d := one.Data(); d.Name == name && d.Mend != nil {
			return d.Mend(path)
		}
	}
	return nil
}

// shares are the shares of the memory that the extensions have.
func (x Extensions) shares() (all []extension.Share) {
	for _, one := range x {
		all = append(all, one.Share())
	}
	return all
}

// lost names what cannot be restored without the service's database, after a semicolon; "" if that is nothing.
func (x Extensions) lost() string {
	for _, one := range x {
		if what := one.Data().Lost; what != "" {
			return "; " + what + " cannot be restored"
		}
	}
	return ""
}

// drop deletes what extensions keep of a collection, after first; see extension.OfCollections.
func (x Extensions) drop(ctx context.Context, collection string, first func() error) error {
	do := first
	for _, one := range x {
		if of, ok := one.(extension.OfCollections); ok {
			next := do
			do = func() error { return of.Drop(ctx, collection, next) }
		}
	}
	return do()
}

// openExtensions opens the extensions in their order.
func (s *Server) openExtensions(ctx context.Context) error {
	for i, one := range s.o.Extensions {
		h := &extension.Host{
			Dir: s.o.Dir, Meta: s.db, Catalog: s.catalog, Memory: s.o.shares.Extensions[i].Limit, Threads: s.o.Threads,
			Mending: s.mending, Interactive: func() func() { return s.batches.Interactive() }, Log: s.o.Log,
		}
		if err := one.Open(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// extensionRoutes are the routes of the extensions.
func (s *Server) extensionRoutes() (all []route) {
	for _, one := range s.o.Extensions {
		for _, r := range one.Routes() {
			need := read
			if r.Write {
				need = write
			}
			all = append(all, route{method: r.Method, pattern: r.Pattern, scope: need, params: r.Params, handle: s.extensionHandler(r)})
		}
	}
	return all
}

// pages are the files of the web page that extensions have.
func (x Extensions) pages() (all []fs.FS) {
	for _, one := range x {
		if files := one.Pages(); files != nil {
			all = append(all, files)
		}
	}
	return all
}

// describe returns the document of the API with the parts of the extensions.
func (x Extensions) describe() ([]byte, error) {
	var parts [][]byte
	for _, one := range x {
		parts = append(parts, one.Description())
	}
	return extension.Join(description, parts...)
}

// backupSource describes a data folder to package backup. The databases of extensions are others.
func (x Extensions) backupSource(dir, release string) backup.Source {
	return backup.Source{
		Dir: dir, Release: release,
		Files: []string{formatName},
		Folders: slices.Concat([]backup.Folder{
			{Name: collectionsName, Known: catalog.Known},
			{Name: filesName, Known: files.Known},
			{Name: batchesName, Known: offline.Known, First: offline.ProgressName},
		}, x.folders(), []backup.Folder{{Name: lostFoundName}}),
	}
}
