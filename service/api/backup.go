package api

import "time"

// BackupStatus is the state of a backup.
type BackupStatus string

// The statuses; all but the first are final.
const (
	BackupInProgress BackupStatus = "in_progress"
	BackupCompleted  BackupStatus = "completed"
	BackupFailed     BackupStatus = "failed"
	BackupCancelled  BackupStatus = "cancelled"
)

// Backup is a backup of the data folder: its state at CreatedAt.
type Backup struct {
	Name      string       `json:"name"`   // of the folder in the folder of backups
	Object    string       `json:"object"` // "backup"
	Status    BackupStatus `json:"status"`
	CreatedAt time.Time    `json:"created_at"`
	EndedAt   *time.Time   `json:"ended_at,omitempty"`
	Program   string       `json:"program"` // version of the program that made it
	// Phase says what goes on: "snapshot", "copying", "checking"; "" once it has ended.
	Phase string `json:"phase,omitempty"`
	// Files and Bytes count all there is, the databases included, the others what is done of it.
	// BytesLinked are shared with an earlier backup.
	Files       int64 `json:"files"`
	FilesDone   int64 `json:"files_done"`
	Bytes       int64 `json:"bytes"`
	BytesDone   int64 `json:"bytes_done"`
	BytesLinked int64 `json:"bytes_linked"`
	// Damaged names what is damaged or missing in the backup, as it is in the data folder. LeftOut
	// are files in the data folder that are not the server's, and are not in the backup.
	Damaged []string `json:"damaged,omitempty"`
	LeftOut []string `json:"left_out,omitempty"`
	// Removed are the older backups that were removed.
	Removed []string `json:"removed,omitempty"`
	// Error says why it failed.
	Error string `json:"error,omitempty"`
}

// Backups is what a server says of its backups.
type Backups struct {
	Object string `json:"object"` // "backups"
	Folder string `json:"folder"` // that they are written to
	Data   string `json:"data"`   // the folder that they are backups of
	Keep   int    `json:"keep"`   // how many are kept; 0 keeps all
	// Running is the backup being made, Last the one made last since the server started; nil if there
	// is none.
	Running *Backup `json:"running"`
	Last    *Backup `json:"last"`
	// Complete are those in Folder, the newest first.
	Complete []Backup `json:"complete"`
}
