package client

import (
	"context"
	"net/http"

	"thresher/service/api"
)

// StartBackup begins a backup of the server's data folder. If one is being made the error is a
// *Problem of kind conflict.
func (c *Client) StartBackup(ctx context.Context) (api.Backup, error) {
	return answerAs[api.Backup](ctx, c, &call{method: http.MethodPost, path: []string{"v1", "backup"}})
}

// Backups says which backup is being made, which was made last, and which there are.
func (c *Client) Backups(ctx context.Context) (api.Backups, error) {
	return answerAs[api.Backups](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "backup"}})
}

// CancelBackup cancels the backup being made, and returns it once it has ended.
func (c *Client) CancelBackup(ctx context.Context) (api.Backup, error) {
	return answerAs[api.Backup](ctx, c, &call{method: http.MethodPost, path: []string{"v1", "backup", "cancel"}})
}
