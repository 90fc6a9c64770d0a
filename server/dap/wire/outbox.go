package wire

import (
	"io"
	"sync"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
)

// outbox holds the messages for a client until it takes them, so that what others do can be
// told to a client that is slow to read.
type outbox struct {
	w io.WriteCloser
	// crowded says that other clients depend on the session: it cannot wait for one that
	// does not read.
	crowded func() bool

	mu      sync.Mutex
	changed sync.Cond
	queue   [][]byte
	size    int
	writing bool
	taken   time.Time // when the client last took a message
}

const (
	// outboxFull is the size from which on Delve waits for the client, in bytes.
	outboxFull = 1 << 20
	// outboxLost is the size at which a client that is told of others is given up.
	outboxLost = 64 << 20
	// outboxPatience is the time that a full outbox waits for a client where there are others.
	outboxPatience = 2 * time.Second
)

func newOutbox(w io.WriteCloser, crowded func() bool) *outbox {
	o := &outbox{w: w, crowded: crowded}
	o.changed.L = &o.mu
	return o
}

// put adds a message. With bounded set, a client with too many of them is given up.
func (o *outbox) put(content []byte, bounded bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, content)
	o.size += len(content)
	if !o.writing {
		o.writing, o.taken = true, time.Now()
		go o.write()
	}
	if bounded && o.size > outboxLost {
		o.drop()
	}
}

// room waits until there is room for more.
func (o *outbox) room() {
	for o.full() {
		crowded := o.crowded() // without the lock: who is asked may be telling this client
		o.mu.Lock()
		if crowded && time.Since(o.taken) > outboxPatience {
			o.drop()
		} else if o.size > outboxFull {
			alarm := time.AfterFunc(time.Second, o.changed.Broadcast)
			o.changed.Wait()
			alarm.Stop()
		}
		o.mu.Unlock()
	}
}

func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size > outboxFull && len(o.queue) > 0
}

// drop gives up a client that takes nothing: the reading of its requests ends, and with it its session.
func (o *outbox) drop() {
	o.queue, o.size = nil, 0
	go func() { _ = o.w.Close() }()
}

// write writes until nothing is left. A client that is gone is noticed where its messages are
// read.
func (o *outbox) write() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > 0 {
		content := o.queue[0]
		o.queue = o.queue[1:]
		o.mu.Unlock()
		_ = dapwire.Write(o.w, content)
		o.mu.Lock()
		o.size, o.taken = max(o.size-len(content), 0), time.Now()
		o.changed.Broadcast()
	}
	o.writing = false
	o.changed.Broadcast()
}

// flush waits until the client has taken everything, or takes nothing more.
func (o *outbox) flush(patience time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	alarm := time.AfterFunc(patience, o.changed.Broadcast)
	defer alarm.Stop()
	for end := time.Now().Add(patience); o.writing && time.Now().Before(end); {
		o.changed.Wait()
	}
}
