package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"time"
)

// Progress says how far a request has come.
type Progress struct {
	Request  Request
	Received int64 // bytes
	Size     int64 // bytes in all, 0 while unknown
}

// Client gets files. It is safe for concurrent use.
type Client struct {
	config Config
	cache  cache
	http   *http.Client
}

// New returns a client. Files are kept in the cache from one process to the next.
func New(c Config) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// A transparent decompression hides a file's size and unpacks without bound.
	transport.DisableCompression = true
	return &Client{config: c, cache: cache{c.Cache}, http: &http.Client{Transport: transport}}
}

// Open returns the client that the user's environment asks for, which uses
// debuginfod-find where that is installed. Fails with [ErrNotConfigured].
func Open() (*Client, error) {
	c, err := FromEnvironment(os.Getenv)
	if err != nil {
		return nil, err
	}
	c.Program = installed()
	return New(c), nil
}

// Cached returns the path of a file that is there already; no server is asked. The
// error wraps [ErrNotFound] where servers said lately that they have none, and
// [fs.ErrNotExist] where they have to be asked.
func (c *Client) Cached(r Request) (string, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	path, err := c.cache.find(r)
	if err != nil {
		return "", fmt.Errorf("%v: %w", r, err)
	}
	if err := verifyFile(r, path); err != nil {
		return "", fmt.Errorf("%v: %s: %w (%w any more)", r, path, err, fs.ErrNotExist)
	}
	return path, nil
}

// Get returns the path of the file, from the cache or a server. It may take as
// long as [Config.MaxTime] allows; ctx ends it before. progress is told of it now
// and then on other goroutines, nil for not. Errors wrap [ErrNotFound],
// [ServerError], [OtherBuildError], [SizeError], [SlowError] or ctx's cause.
func (c *Client) Get(ctx context.Context, r Request, progress func(Progress)) (string, error) {
	switch path, err := c.Cached(r); {
	case err == nil, errors.Is(err, errRequest), errors.Is(err, ErrNotFound):
		return path, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.MaxTime, &timeError{c.config.MaxTime})
	defer cancel()
	if progress == nil {
		progress = func(Progress) {}
	}
	path, err := c.ask(ctx, r, progress)
	if err == nil {
		return path, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return "", fmt.Errorf("%v: %w", r, err)
}

// ask has a server send the file: by elfutils' program, and by HTTP where there is
// no program or what it brought is wrong. The program keeps the first server's
// answer, HTTP goes on to the next server.
func (c *Client) ask(ctx context.Context, r Request, progress func(Progress)) (string, error) {
	if c.config.Program != "" {
		path, err := c.run(ctx, r, progress)
		var other *OtherBuildError
		if !errors.As(err, &other) {
			return path, err
		}
	}
	return c.download(ctx, r, progress)
}

// verifyFile checks a file in the cache, and deletes it there if it is wrong: it
// would stand in the way of the right one.
func verifyFile(r Request, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := verify(r, f); err != nil {
		_ = os.Remove(path)
		return err
	}
	return nil
}

// timeError says that a request took too long in all.
type timeError struct{ max time.Duration }

func (e *timeError) Error() string {
	return fmt.Sprintf("not there after %v; DEBUGINFOD_MAXTIME sets another limit", e.max)
}

// Timeout says that it is one.
func (e *timeError) Timeout() bool { return true }
