package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/clewdbg/clew/internal/unwind/snapshot"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// Bounds on what one batch of snapshots holds, and on the text of all that are being unwound,
// in bytes. A longer line is unwound alone.
const (
	batchLines = 64
	batchText  = 256 << 10
	poolText   = 64 << 20
)

// batch are lines of one file that follow each other.
type batch struct {
	file, dir string
	lines     []line
	text      int   // bytes
	failed    error // instead of lines: the file cannot be read
	answers   chan answers
}

// line is a snapshot as text, or the error that stands for it.
type line struct {
	text   []byte
	number int
	err    error
}

// answers are a batch's, in its order.
type answers struct {
	out     []byte
	notices []string
	code    int
	err     error // ends the run
}

// pool unwinds batches with several workers, and keeps their order.
type pool struct {
	ctx     context.Context
	work    func() (*unwinding, error) // makes a worker
	workers int

	started int
	jobs    chan *batch
	order   chan *batch
	running sync.WaitGroup

	mu     sync.Mutex
	freed  sync.Cond
	held   int // bytes of text
	failed error
}

// newPool makes a pool; done is called with each batch's answers, in order.
func newPool(ctx context.Context, workers int, work func() (*unwinding, error), done func(*batch, answers) error) (p *pool, end func() error) {
	p = &pool{ctx: ctx, work: work, workers: workers, jobs: make(chan *batch), order: make(chan *batch, 2*workers)}
	p.freed.L = &p.mu
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for b := range p.order {
			a := <-b.answers
			if a.err == nil && p.failure() == nil {
				a.err = done(b, a)
			}
			p.free(b.text, a.err)
		}
	}()
	return p, func() error {
		close(p.jobs)
		close(p.order)
		<-finished
		p.running.Wait()
		return p.failure()
	}
}

// add hands a batch to the workers. It waits while too much is being unwound.
func (p *pool) add(b *batch) error {
	p.mu.Lock()
	for p.held > 0 && p.held+b.text > poolText && p.failed == nil {
		p.freed.Wait()
	}
	p.held += b.text
	p.mu.Unlock()
	if err := p.failure(); err != nil {
		return err
	}
	b.answers = make(chan answers, 1)
	p.order <- b
	select {
	case p.jobs <- b:
		return nil
	default:
	}
	if p.started < p.workers {
		p.started++
		p.running.Go(p.run)
	}
	p.jobs <- b
	return nil
}

// file hands the lines of a file to the workers, - for standard input.
func (p *pool) file(name string, stdin io.Reader) error {
	in, dir := stdin, "."
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return p.add(&batch{failed: fmt.Errorf("read snapshots: %w", err)})
		}
		defer file.Close()
		in, dir = file, filepath.Dir(name)
	}
	reader := snapshot.NewReader(in, snapshot.Options{})
	b := &batch{file: name, dir: dir}
	for text, err := range reader.Lines() {
		b.lines = append(b.lines, line{bytes.Clone(text), reader.Line(), err})
		b.text += len(text)
		if len(b.lines) < batchLines && b.text < batchText && reader.Buffered() {
			continue
		}
		if err := p.add(b); err != nil {
			return err
		}
		b = &batch{file: name, dir: dir}
	}
	if len(b.lines) == 0 {
		return nil
	}
	return p.add(b)
}

func (p *pool) free(text int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held -= text
	if p.failed == nil {
		p.failed = err
	}
	p.freed.Broadcast()
}

func (p *pool) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// run is a worker.
func (p *pool) run() {
	u, err := p.work()
	if err == nil {
		defer u.close()
	}
	for b := range p.jobs {
		a := answers{err: err}
		if err == nil {
			a = u.batch(p.ctx, b)
		}
		b.answers <- a
	}
}

// batch unwinds a batch.
func (u *unwinding) batch(ctx context.Context, b *batch) answers {
	var out bytes.Buffer
	u.code, u.notices = exitDone, nil
	if b.failed != nil {
		u.fail("%v", b.failed)
	}
	for i := range b.lines {
		if ctx.Err() != nil {
			return answers{err: ctx.Err()}
		}
		l := &b.lines[i]
		var s *snapshot.Snapshot
		err := l.err
		if err == nil {
			s, err = snapshot.Options{}.Parse(l.text, l.number)
		}
		var answer stackjson.Answer
		if err == nil {
			answer = u.one(ctx, s, b.dir, fmt.Sprintf("%s line %d", b.file, l.number))
		} else {
			answer = stackjson.Failure(err)
			u.fail("%s: %v", b.file, err)
		}
		text, err := stackjson.Marshal(answer)
		if err != nil {
			return answers{err: err}
		}
		out.Write(append(text, '\n'))
	}
	return answers{out: out.Bytes(), notices: u.notices, code: u.code}
}

// fail notes what is wrong with a snapshot.
func (u *unwinding) fail(format string, args ...any) {
	u.notices = append(u.notices, fmt.Sprintf(format, args...))
	u.code = exitFailed
}
