package folder

import (
	"thresher/columns"
	"thresher/dataset"
)

// Info describes a folder.
type Info struct {
	Path     string          `json:"path"`
	Metric   string          `json:"metric"`
	Dim      int             `json:"dim"`
	Elem     dataset.Elem    `json:"dtype"`
	Seed     uint64          `json:"seed"`
	Vectors  int             `json:"rows"`
	Texts    bool            `json:"text_ids"`
	Version  uint64          `json:"version"`  // writes
	Unsealed int             `json:"unsealed"` // vectors that are in the logs only
	Segments []SegmentInfo   `json:"segments"`
	Columns  []columns.Field `json:"columns,omitempty"`
}

// SegmentInfo describes a segment.
type SegmentInfo struct {
	File       string `json:"file"`
	Rows       int    `json:"rows"`
	Deleted    int    `json:"deleted"` // of them
	Generation int    `json:"generation"`
	Bytes      int64  `json:"file_bytes"`
}

// Info describes what the folder holds now: nothing after Close.
func (f *Folder) Info() *Info {
	f.filing.Lock()
	defer f.filing.Unlock()
	now := f.Snapshot()
	defer now.Release()
	info := &Info{Path: f.path, Metric: f.metric.String(), Dim: f.dim, Elem: f.elem, Seed: f.seed, Columns: f.fields, Vectors: now.Len(), Texts: now.Textual(), Version: now.Version(), Segments: []SegmentInfo{}}
	info.Unsealed = now.Len()
	for _, h := range now.Holdings() {
		e := f.entries[h.Segment]
		if e == nil {
			continue
		}
		info.Segments = append(info.Segments, SegmentInfo{e.file(), e.Rows, len(h.Deleted), h.Segment.Generation(), e.Bytes})
		info.Unsealed -= e.Rows - len(h.Deleted)
	}
	return info
}
