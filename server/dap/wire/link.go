package wire

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// firstInjected is the number of the first request of clew's own; clients count from 1.
const firstInjected = 1 << 40

// errUpstreamGone is the error of a request without an answer.
var errUpstreamGone = errors.New("the debugger has ended the session")

// Link is the connection to Delve: it knows which requests wait for an answer.
type Link struct {
	toClient func(*dapwire.Message)

	writing sync.Mutex
	w       io.Writer

	mu      sync.Mutex
	next    int64
	waiting map[int64][]*pending             // by the number that Delve knows; several only if the client repeats one
	hooks   map[int64]func(*dapwire.Message) // of requests that were not forwarded yet
	late    map[int64]bool                   // whose answer nobody waits for any more
	gone    chan struct{}
}

// pending is a request that was not answered yet.
type pending struct {
	seq     int64                  // the client's
	answer  chan *dapwire.Message  // of a request of clew's own; nil for the client's
	rewrite func(*dapwire.Message) // changes the answer before the client sees it; may be nil
	hook    func(*dapwire.Message) // see [Link.Hook]; may be nil
}

func newLink(w io.Writer, toClient func(*dapwire.Message)) *Link {
	return &Link{toClient: toClient, w: w, next: firstInjected, waiting: make(map[int64][]*pending), hooks: make(map[int64]func(*dapwire.Message)), late: make(map[int64]bool), gone: make(chan struct{})}
}

// Forward passes a request of the client's. Rewrite, which may be nil, changes the answer
// before the client gets it. A request that is too long is answered with an error; that
// the connection is gone is noticed where it is read.
func (l *Link) Forward(m *dapwire.Message, rewrite func(*dapwire.Message)) {
	_ = l.request(m, &pending{seq: m.Seq, rewrite: rewrite})
}

// Ask sends a request whose answer the client does not see, and waits for it.
// The answer carries the number that the request had.
func (l *Link) Ask(ctx context.Context, m *dapwire.Message) (*dapwire.Message, error) {
	p := &pending{seq: m.Seq, answer: make(chan *dapwire.Message, 1)}
	if err := l.request(m, p); err != nil {
		return nil, err
	}
	select {
	case answer := <-p.answer:
		return answer, nil
	case <-l.gone:
		select {
		case answer := <-p.answer:
			return answer, nil
		default:
		}
		return nil, errUpstreamGone
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Inject asks with a request of clew's own.
func (l *Link) Inject(ctx context.Context, request dap.RequestMessage) (*dapwire.Message, error) {
	m, err := dapwire.NewRequest(request)
	if err != nil {
		return nil, err
	}
	return l.Ask(ctx, m)
}

// request sends a request. One that is too long is answered at once.
func (l *Link) request(m *dapwire.Message, p *pending) error {
	seq, err := l.send(m, p)
	if long, ok := errors.AsType[*LongRequestError](err); ok {
		var refusal *dapwire.Message
		if refusal, err = refuseLong(&dapwire.Message{Seq: seq, Command: m.Command}, long); err == nil {
			if refusal = l.answered(refusal); refusal != nil {
				l.toClient(refusal)
			}
			return nil
		}
	}
	if err != nil {
		l.take(seq)
	}
	return err
}

// send sends a request, by the number that it returns.
func (l *Link) send(m *dapwire.Message, p *pending) (seq int64, err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	seq = m.Seq
	if p.answer != nil && m.Seq == 0 || m.Seq >= firstInjected {
		seq = l.next
		l.next++
	}
	if p.answer == nil && !l.isGone() {
		p.hook = l.hooks[p.seq]
		delete(l.hooks, p.seq)
	}
	l.waiting[seq] = append(l.waiting[seq], p)
	l.mu.Unlock()
	m.SetSeq(seq)
	content := m.Bytes()
	if len(content) > maxDelveMessage { // what clew has changed may have made it longer
		content, err = shorten(content)
	}
	if err == nil {
		err = dapwire.Write(l.w, content)
	}
	m.Seq = p.seq
	return seq, err
}

// Hook has a function called with Delve's answer to a request of the client's, before the client
// gets it; with nil if Delve is gone. It comes before the request is forwarded.
func (l *Link) Hook(seq int64, f func(answer *dapwire.Message)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hooks[seq] = f
}

// Unhook calls the function with nil if the request was not forwarded.
func (l *Link) Unhook(seq int64) {
	l.mu.Lock()
	f := l.hooks[seq]
	delete(l.hooks, seq)
	l.mu.Unlock()
	if f != nil {
		f(nil)
	}
}

// Forget returns whether a request of the client's waits for an answer, and has nobody wait for it any more: its hook gets nil, and an answer that comes
// late is dropped.
func (l *Link) Forget(seq int64) bool {
	p := l.take(seq)
	if p == nil {
		return false
	}
	l.mu.Lock()
	l.late[seq] = true
	l.mu.Unlock()
	if p.hook != nil {
		p.hook(nil)
	}
	return true
}

// Gone is closed when nothing more comes from Delve.
func (l *Link) Gone() <-chan struct{} { return l.gone }

func (l *Link) isGone() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// awaits reports whether a request was not answered yet.
func (l *Link) awaits(seq int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting[seq]) > 0
}

// write sends what needs no answer.
func (l *Link) write(content []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return dapwire.Write(l.w, content)
}

// Idle reports whether Delve has answered every request.
func (l *Link) Idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting) == 0
}

func (l *Link) take(seq int64) *pending {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.waiting[seq]
	if len(list) == 0 {
		return nil
	}
	p := list[0]
	if list = slices.Delete(list, 0, 1); len(list) == 0 {
		delete(l.waiting, seq)
	} else {
		l.waiting[seq] = list
	}
	return p
}

// answered takes Delve's answer, and returns the message for the client, nil if there is
// none. Delve may answer a request twice (a restart that fails): the second answer
// passes.
func (l *Link) answered(m *dapwire.Message) *dapwire.Message {
	p := l.take(m.RequestSeq)
	if p == nil {
		l.mu.Lock()
		late := l.late[m.RequestSeq]
		delete(l.late, m.RequestSeq)
		l.mu.Unlock()
		if late || m.RequestSeq >= firstInjected {
			return nil
		}
		return m
	}
	m.SetRequestSeq(p.seq)
	if p.hook != nil {
		p.hook(m)
	}
	if p.answer != nil {
		p.answer <- m
		return nil
	}
	if p.rewrite != nil {
		p.rewrite(m)
	}
	return m
}

// closed ends the waiting for answers.
func (l *Link) closed() {
	l.mu.Lock()
	if l.isGone() {
		l.mu.Unlock()
		return
	}
	close(l.gone)
	var hooks []func(*dapwire.Message)
	for _, list := range l.waiting {
		for _, p := range list {
			if p.hook != nil {
				hooks = append(hooks, p.hook)
			}
		}
	}
	l.mu.Unlock()
	for _, f := range hooks {
		f(nil)
	}
}
