package debuginfod

import (
	"context"
	"errors"
	"io/fs"
	"sync"
)

// ErrPending says that a file has been asked for and is not there yet.
var ErrPending = errors.New("asked for, not there yet")

// Background gets files while others go on: a question is answered at once, with
// what is there. It is safe for concurrent use.
type Background struct {
	client *Client
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{}
	tasks  sync.WaitGroup

	mu    sync.Mutex
	known map[string]*task
}

// task is one file that was asked for.
type task struct {
	progress Progress
	done     bool
	path     string
	err      error
}

// Bounds on what one Background does.
const (
	parallel = 4       // requests at a time
	maxTasks = 1 << 16 // files in all
)

// errTooMany says that no more is asked for.
var errTooMany = errors.New("too many files were asked for")

// NewBackground starts with nothing asked for. It must be closed.
func NewBackground(c *Client) *Background {
	b := &Background{client: c, slots: make(chan struct{}, parallel), known: make(map[string]*task)}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// Ask returns the path of a file that is there. Otherwise servers are asked, once:
// the error is [ErrPending] until they have answered, then why there is no file. It
// does not wait for any server.
func (b *Background) Ask(r Request) (string, error) {
	key := r.id() + "/" + r.name()
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.known[key]; t != nil {
		if !t.done {
			return "", ErrPending
		}
		return t.path, t.err
	}
	if len(b.known) >= maxTasks {
		return "", errTooMany
	}
	t := &task{progress: Progress{Request: r}}
	b.known[key] = t
	t.path, t.err = b.client.Cached(r)
	if !errors.Is(t.err, fs.ErrNotExist) {
		t.done = true
		return t.path, t.err
	}
	if b.ctx.Err() != nil {
		t.done = true
		t.err = context.Cause(b.ctx)
		return "", t.err
	}
	b.tasks.Add(1)
	go b.get(t, r)
	return "", ErrPending
}

func (b *Background) get(t *task, r Request) {
	defer b.tasks.Done()
	var path string
	var err error
	select {
	case b.slots <- struct{}{}:
		path, err = b.client.Get(b.ctx, r, func(p Progress) {
			b.mu.Lock()
			t.progress = p
			b.mu.Unlock()
		})
		<-b.slots
	case <-b.ctx.Done():
		err = context.Cause(b.ctx)
	}
	b.mu.Lock()
	t.done, t.path, t.err = true, path, err
	b.mu.Unlock()
}

// Pending lists what servers have been asked for and have not answered yet.
func (b *Background) Pending() (out []Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.known {
		if !t.done {
			out = append(out, t.progress)
		}
	}
	return out
}

// Wait returns when nothing is pending, or ctx ends.
func (b *Background) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		b.tasks.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close ends what is pending and returns when it has ended.
func (b *Background) Close() {
	b.cancel()
	b.tasks.Wait()
}
