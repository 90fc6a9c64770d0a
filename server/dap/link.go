package dap

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// firstInjected is the number of the first request of our own; clients count
// from 1.
const firstInjected = 1 << 40

var errUpstreamGone = errors.New("the debugger has ended the session")

// link is the connection to Delve: it knows which requests wait for an answer.
type link struct {
	writing sync.Mutex
	w       io.Writer

	mu      sync.Mutex
	next    int64
	waiting map[int64][]*pending // by the number that Delve knows; several only if the client repeats one
	gone    chan struct{}
}

// pending is a request that was not answered yet.
type pending struct {
	seq     int64                  // the client's
	answer  chan *dapwire.Message  // where our own request's answer goes; nil for the client's
	rewrite func(*dapwire.Message) // changes the answer before the client sees it; may be nil
}

func newLink(w io.Writer) *link {
	return &link{w: w, next: firstInjected, waiting: make(map[int64][]*pending), gone: make(chan struct{})}
}

// forward passes a request of the client's.
func (l *link) forward(m *dapwire.Message, rewrite func(*dapwire.Message)) error {
	_, err := l.request(m, &pending{seq: m.Seq, rewrite: rewrite})
	return err
}

// ask sends a request whose answer the client does not see, and waits for it.
// The answer carries the number that the request had.
func (l *link) ask(ctx context.Context, m *dapwire.Message) (*dapwire.Message, error) {
	p := &pending{seq: m.Seq, answer: make(chan *dapwire.Message, 1)}
	if _, err := l.request(m, p); err != nil {
		var long *LongRequestError
		if errors.As(err, &long) {
			return refusedAsLong(m, long)
		}
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

// inject asks with a request that was made here.
func (l *link) inject(ctx context.Context, request dap.RequestMessage) (*dapwire.Message, error) {
	m, err := dapwire.NewRequest(request)
	if err != nil {
		return nil, err
	}
	return l.ask(ctx, m)
}

// stackTraceRequest asks Delve for a page of a stack.
func stackTraceRequest(want page) *dap.StackTraceRequest {
	return &dap.StackTraceRequest{
		Request:   dap.Request{Command: "stackTrace"},
		Arguments: dap.StackTraceArguments{ThreadId: int(want.ThreadID), StartFrame: want.StartFrame, Levels: want.Levels},
	}
}

func (l *link) request(m *dapwire.Message, p *pending) (seq int64, err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	seq = m.Seq
	if p.answer != nil && m.Seq == 0 || m.Seq >= firstInjected {
		seq = l.next
		l.next++
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
	if err != nil {
		l.take(seq)
	}
	return seq, err
}

// refusedAsLong is the answer to a request that was not sent.
func refusedAsLong(m *dapwire.Message, long *LongRequestError) (*dapwire.Message, error) {
	return dapwire.NewError(m, errMalformed, "Request too long", long.Error())
}

// pass sends what is no request.
func (l *link) pass(m *dapwire.Message) error { return l.writeRaw(m.Bytes()) }

func (l *link) writeRaw(content []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return dapwire.Write(l.w, content)
}

// idle says that everything was answered.
func (l *link) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting) == 0
}

func (l *link) take(seq int64) *pending {
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

// answered takes Delve's answer: it gives the message for the client, nil where
// there is none. Delve may answer a request twice (a restart that fails); the
// second time nobody waits any more, and the answer passes.
func (l *link) answered(m *dapwire.Message) *dapwire.Message {
	p := l.take(m.RequestSeq)
	if p == nil {
		if m.RequestSeq >= firstInjected {
			return nil
		}
		return m
	}
	m.SetRequestSeq(p.seq)
	if p.answer != nil {
		p.answer <- m
		return nil
	}
	if p.rewrite != nil {
		p.rewrite(m)
	}
	return m
}

// closed releases who waits for an answer.
func (l *link) closed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.gone:
	default:
		close(l.gone)
	}
}
