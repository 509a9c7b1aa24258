package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// buckets is object storage with the interface of S3, which Google's has, too.
type buckets struct {
	core *minio.Core
}

// retries is how often the library repeats a request that failed in a way that may pass.
const retries = 4

// openS3 connects to S3 or what AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL names instead. Credentials are those of the
// environment, of the files of the AWS tools, or of the machine or container; without any, requests are anonymous.
func openS3(ctx context.Context, transport http.RoundTripper) (source, error) {
	endpoint := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	region := cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	host, secure := "s3.amazonaws.com", true
	if endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
			return nil, fmt.Errorf("AWS_ENDPOINT_URL is %q, not https:// and a host", endpoint)
		}
		host, secure, region = u.Host, u.Scheme == "https", cmp.Or(region, "us-east-1") // other stores have no regions
	}
	chain := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") || os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" ||
		os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")+os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" {
		chain = append(chain, &credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}})
	}
	found := credentials.NewChainCredentials(chain)
	if v, err := found.GetWithContext(nil); err != nil || v.SignerType == credentials.SignatureAnonymous {
		found = anonymous() // so that the machine is not asked again before each request
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return openBuckets(host, &minio.Options{Creds: found, Secure: secure, Region: region, Transport: transport, MaxRetries: retries})
}

func anonymous() *credentials.Credentials {
	return credentials.NewStatic("", "", "", credentials.SignatureAnonymous)
}

// openGS connects to Google's object storage, or what STORAGE_EMULATOR_HOST names instead. Credentials are Google's
// application default credentials; without any, requests are anonymous.
func openGS(ctx context.Context, transport http.RoundTripper) (source, error) {
	o := &minio.Options{Creds: anonymous(), Secure: true, Region: "auto", Transport: transport, MaxRetries: retries}
	if host := os.Getenv("STORAGE_EMULATOR_HOST"); host != "" {
		secure := strings.HasPrefix(host, "https://")
		o.Secure = secure
		return openBuckets(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(host, "http://"), "https://"), "/"), o)
	}
	found, err := google.FindDefaultCredentials(ctx, "https://www.googleapis.com/auth/devstorage.read_only")
	switch {
	case err == nil:
		o.Transport = &oauth2.Transport{Source: found.TokenSource, Base: transport}
	case os.Getenv("GOOGLE_APPLICATION_CREDENTIALS") != "":
		return nil, fmt.Errorf("GOOGLE_APPLICATION_CREDENTIALS: %w", err)
	}
	return openBuckets("storage.googleapis.com", o)
}

func openBuckets(host string, o *minio.Options) (source, error) {
	core, err := minio.NewCore(host, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", host, err)
	}
	core.SetAppInfo("thresher", "1")
	return &buckets{core}, nil
}

func (b *buckets) stat(ctx context.Context, l location) (object, error) {
	o := minio.StatObjectOptions{Checksum: true}
	info, err := b.core.StatObject(ctx, l.bucket, l.key, o)
	if err != nil {
		return object{}, said(&l, err)
	}
	return b.object(l, &info, true), nil
}

// object returns what the store says of an object.
func (b *buckets) object(l location, info *minio.ObjectInfo, asked bool) object {
	o := object{location: l, from: b, size: info.Size, tag: strings.Trim(info.ETag, `"`), modified: info.LastModified, sums: sums{}, asked: asked}
	o.sums.add("crc32c", info.ChecksumCRC32C)
	o.sums.add("crc64nvme", info.ChecksumCRC64NVME)
	o.sums.add("crc32", info.ChecksumCRC32)
	o.sums.add("sha256", info.ChecksumSHA256)
	o.sums.add("sha1", info.ChecksumSHA1)
	if strings.EqualFold(info.ChecksumMode, "COMPOSITE") {
		clear(o.sums)
	}
	return o
}

func (b *buckets) list(ctx context.Context, l location, visit func(object) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for info := range b.core.Client.ListObjects(ctx, l.bucket, minio.ListObjectsOptions{Prefix: l.key, Recursive: true}) {
		if info.Err != nil {
			return said(&l, info.Err)
		}
		if strings.HasSuffix(info.Key, "/") { // which some tools make for folders
			continue
		}
		if err := visit(b.object(l.at(info.Key), &info, false)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (b *buckets) open(ctx context.Context, o *object, offset int64) (io.ReadCloser, int64, error) {
	opt := minio.GetObjectOptions{}
	if o.tag != "" {
		if err := opt.SetMatchETag(o.tag); err != nil {
			return nil, 0, &Error{URL: o.shown, Err: err}
		}
	}
	if offset > 0 {
		if err := opt.SetRange(offset, 0); err != nil {
			return nil, 0, &Error{URL: o.shown, Err: err}
		}
	}
	body, _, h, err := b.core.GetObject(ctx, o.bucket, o.key, opt)
	if err != nil {
		return nil, 0, said(&o.location, err)
	}
	if len(o.sums) == 0 {
		o.sums.ofHeader(h)
	}
	from := int64(0)
	if h.Get("Content-Range") != "" {
		from = offset
	}
	return body, from, nil
}

// said returns an error of the library with what the store said.
func said(l *location, err error) error {
	var e minio.ErrorResponse
	if !errors.As(err, &e) || e.StatusCode == 0 {
		return &Error{URL: l.shown, Err: withoutURL(err)}
	}
	text := e.Message
	if e.Code != "" && e.Code != e.Message {
		text = e.Code + ": " + text
	}
	return refused(l, e.StatusCode, text)
}

// withoutURL returns what is wrong in an error of net/http, whose URL can have secrets.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
