package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// slowBytes is what a server must send in [Config.Timeout] (DEBUGINFOD_TIMEOUT in
// debuginfod-find(1)).
const slowBytes = 100 << 10

// answer is what became of asking one server.
type answer struct {
	url      string
	response *http.Response
	transfer *transfer
	err      error
}

// download asks all servers at once and takes the file of the first that sends the
// right one. A miss is noted only where every server said so.
func (c *Client) download(ctx context.Context, r Request, progress func(Progress)) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the servers that were not needed
	answers := c.askAll(ctx, r)
	var failed []error
	for range c.config.URLs {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case a := <-answers:
			path, err := c.receive(r, a, progress)
			if err == nil {
				c.cache.clean(time.Now())
				return path, nil
			}
			if !errors.Is(err, ErrNotFound) {
				failed = append(failed, &ServerError{URL: a.url, Err: err})
			}
		}
	}
	if len(failed) > 0 {
		return "", errors.Join(failed...)
	}
	c.cache.miss(r)
	return "", ErrNotFound
}

// askAll sends what each server answers, until ctx ends.
func (c *Client) askAll(ctx context.Context, r Request) <-chan answer {
	answers := make(chan answer)
	for _, server := range c.config.URLs {
		go func() {
			a := c.request(ctx, r.url(server))
			select {
			case answers <- a:
			case <-ctx.Done():
				a.close()
			}
		}()
	}
	return answers
}

// request asks one server, again where it failed.
func (c *Client) request(ctx context.Context, url string) (a answer) {
	for try := 0; ; try++ {
		a = c.requestOnce(ctx, url)
		var status *statusError
		final := a.err == nil || errors.Is(a.err, ErrNotFound) || errors.As(a.err, &status) && status.code < 500
		if final || ctx.Err() != nil || try >= c.config.Retries {
			return a
		}
	}
}

func (c *Client) requestOnce(ctx context.Context, url string) answer {
	t := newTransfer(ctx, c.config)
	a := answer{url: url, transfer: t}
	req, err := http.NewRequestWithContext(t.ctx, http.MethodGet, url, nil)
	if err != nil {
		a.err = err
		a.close()
		return a
	}
	maps.Copy(req.Header, c.config.Header)
	req.Header.Set("User-Agent", "clew")
	req.Header.Set("X-DEBUGINFOD-MAXSIZE", strconv.FormatInt(c.config.MaxSize, 10))
	a.response, a.err = c.http.Do(req)
	t.pause()
	if a.err == nil {
		a.err = refused(a.response, c.config.MaxSize)
	} else {
		a.err = t.cause(a.err)
	}
	if a.err != nil {
		a.close()
	}
	return a
}

// statusError is an answer that is no file.
type statusError struct {
	code   int
	status string
}

func (e *statusError) Error() string { return "the server answers " + strconv.Quote(e.status) }

// refused says why an answer's contents are not read.
func refused(response *http.Response, maxSize int64) error {
	switch {
	case response.StatusCode == http.StatusNotFound:
		return ErrNotFound
	case response.StatusCode != http.StatusOK:
		return &statusError{response.StatusCode, response.Status}
	case sizeOf(response) > maxSize:
		return &SizeError{maxSize}
	}
	return nil
}

// sizeOf is how many bytes a server says that it sends, 0 if unknown.
func sizeOf(response *http.Response) int64 {
	return max(response.ContentLength, positive(response.Header.Get("X-DEBUGINFOD-SIZE"), 0))
}

func (a *answer) close() {
	if a.response != nil {
		a.response.Body.Close()
	}
	a.transfer.end()
}

// receive reads the file of a server that has answered into the cache.
func (c *Client) receive(r Request, a answer, progress func(Progress)) (path string, err error) {
	defer a.close()
	if a.err != nil {
		return "", a.err
	}
	tmp, err := c.cache.create(r)
	if err != nil {
		return "", fmt.Errorf("the cache cannot be written: %w", err)
	}
	defer func() {
		if err != nil {
			tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	a.transfer.resume()
	body := &reporter{in: a.response.Body, transfer: a.transfer, to: progress,
		now: Progress{Request: r, Size: sizeOf(a.response)}}
	n, err := io.Copy(tmp, io.LimitReader(body, c.config.MaxSize+1))
	switch {
	case err != nil:
		return "", a.transfer.cause(err)
	case n > c.config.MaxSize:
		return "", &SizeError{c.config.MaxSize}
	case n == 0:
		return "", errors.New("the server sent an empty file") // a miss in the cache
	}
	if err := verify(r, tmp); err != nil {
		return "", err
	}
	modified, _ := http.ParseTime(a.response.Header.Get("Last-Modified"))
	return c.cache.keep(r, tmp, modified)
}

// reporter counts what is read.
type reporter struct {
	in       io.Reader
	transfer *transfer
	to       func(Progress)
	now      Progress
	last     time.Time // of the last report
}

// reportEvery bounds how often progress is reported.
const reportEvery = 100 * time.Millisecond

func (r *reporter) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	r.transfer.received.Add(int64(n))
	r.now.Received += int64(n)
	if now := time.Now(); err != nil || now.Sub(r.last) >= reportEvery {
		r.last = now
		r.to(r.now)
	}
	return n, err
}

// transfer watches one server: its context ends when too little comes. It does not
// count the time in which a server's answer waits for another's.
type transfer struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	timeout  time.Duration
	timer    *time.Timer
	received atomic.Int64
	seen     int64 // of received when the timer was set
}

func newTransfer(parent context.Context, c Config) *transfer {
	t := &transfer{timeout: c.Timeout}
	t.ctx, t.cancel = context.WithCancelCause(parent)
	t.timer = time.AfterFunc(c.Timeout, t.judge)
	return t
}

// judge is called when the time is over in which the server should have sent.
func (t *transfer) judge() {
	now := t.received.Load()
	if now-t.seen < slowBytes {
		t.cancel(&SlowError{t.timeout})
		return
	}
	t.seen = now
	t.timer.Reset(t.timeout)
}

func (t *transfer) pause()  { t.timer.Stop() }
func (t *transfer) resume() { t.timer.Reset(t.timeout) }

// cause returns why a request of the transfer failed.
func (t *transfer) cause(err error) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return err
}

func (t *transfer) end() {
	t.timer.Stop()
	t.cancel(nil)
}
