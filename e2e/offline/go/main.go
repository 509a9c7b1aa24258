// Offlinejobs runs an offline job with the module openai-go, from the upload to the answers,
// and prints what its user gets, errors included, as one line of JSON.
//
//	offlinejobs BASE_URL ENDPOINT INPUT LONG_INPUT
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "offlinejobs:", err)
		os.Exit(1)
	}
}

// user is a client of the API.
type user struct {
	client   openai.Client
	endpoint string
}

func run(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("want BASE_URL ENDPOINT INPUT LONG_INPUT")
	}
	u := &user{openai.NewClient(option.WithBaseURL(args[0]), option.WithAPIKey("none"), option.WithMaxRetries(0)), args[1]}
	file, err := u.upload(ctx, args[2])
	if err != nil {
		return err
	}
	made, err := u.submit(ctx, file.ID)
	if err != nil {
		return err
	}
	batch, err := u.finished(ctx, made.ID)
	if err != nil {
		return err
	}
	answer, err := u.client.Files.Content(ctx, batch.OutputFileID)
	if err != nil {
		return err
	}
	output, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	slow, err := u.upload(ctx, args[3])
	if err != nil {
		return err
	}
	begun, err := u.submit(ctx, slow.ID)
	if err != nil {
		return err
	}
	if _, err := u.client.Batches.Cancel(ctx, begun.ID); err != nil {
		return err
	}
	cancelled, err := u.finished(ctx, begun.ID)
	if err != nil {
		return err
	}
	files, batches, err := u.listed(ctx)
	if err != nil {
		return err
	}
	_, unknown := u.client.Files.Get(ctx, "file-none")
	_, refused := u.submit(ctx, "file-none")
	deleted, err := u.client.Files.Delete(ctx, slow.ID)
	if err != nil {
		return err
	}
	counts := batch.RequestCounts
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"file":   map[string]any{"id": file.ID, "filename": file.Filename, "bytes": file.Bytes, "purpose": file.Purpose},
		"slow":   slow.ID,
		"status": batch.Status,
		"counts": map[string]int64{"total": counts.Total, "completed": counts.Completed, "failed": counts.Failed},
		"output": string(output), "files": files, "batches": batches, "made": []string{batch.ID, begun.ID},
		"cancelled": cancelled.Status, "unknown": said(unknown), "refused": said(refused), "deleted": deleted.Deleted,
	})
}

func (u *user) upload(ctx context.Context, path string) (*openai.FileObject, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return u.client.Files.New(ctx, openai.FileNewParams{File: f, Purpose: openai.FilePurposeBatch})
}

func (u *user) submit(ctx context.Context, file string) (*openai.Batch, error) {
	return u.client.Batches.New(ctx, openai.BatchNewParams{
		InputFileID: file, Endpoint: openai.BatchNewParamsEndpoint(u.endpoint), CompletionWindow: openai.BatchNewParamsCompletionWindow24h,
	})
}

// finished polls a batch to its end.
func (u *user) finished(ctx context.Context, id string) (*openai.Batch, error) {
	for {
		b, err := u.client.Batches.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		switch b.Status {
		case openai.BatchStatusCompleted, openai.BatchStatusFailed, openai.BatchStatusExpired, openai.BatchStatusCancelled:
			return b, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// listed pages through everything, one item at a time.
func (u *user) listed(ctx context.Context) (files, batches []string, err error) {
	ofFiles := u.client.Files.ListAutoPaging(ctx, openai.FileListParams{Limit: openai.Int(1)})
	for ofFiles.Next() {
		files = append(files, ofFiles.Current().ID)
	}
	ofBatches := u.client.Batches.ListAutoPaging(ctx, openai.BatchListParams{Limit: openai.Int(1)})
	for ofBatches.Next() {
		batches = append(batches, ofBatches.Current().ID)
	}
	return files, batches, errors.Join(ofFiles.Err(), ofBatches.Err())
}

// said returns how the module reports an error.
func said(err error) map[string]any {
	var e *openai.Error
	if !errors.As(err, &e) {
		return nil
	}
	return map[string]any{"status": e.StatusCode, "code": e.Code, "type": e.Type, "param": e.Param, "text": e.Error() + " " + e.Message}
}
