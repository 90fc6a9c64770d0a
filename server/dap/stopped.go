package dap

import (
	"strconv"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
)

// nameStoppedThread gives a stop its thread where Delve has none to name: a
// thread without a goroutine.
func (p *Proxy) nameStoppedThread(m *dapwire.Message) {
	raw, _ := m.Get("body")
	body, err := dapwire.ParseObject(raw)
	if err != nil {
		return
	}
	if id, ok := body.Int("threadId"); ok && id != 0 {
		return
	}
	if tid, ok := p.currentThread(); ok {
		body.Set("threadId", strconv.AppendInt(nil, ownThreadID(tid), 10))
		m.Set("body", body.Bytes())
	}
}

// currentPatience bounds the look at the current thread: events wait for it. A
// client that lets the program run again before it knew of the stop can make it
// wait.
const currentPatience = 2 * time.Second

// currentThread gives the current thread if it runs no goroutine.
func (p *Proxy) currentThread() (tid uint64, ok bool) {
	s := p.look.target()
	if s == nil || !s.Live() {
		return 0, false
	}
	found := make(chan uint64, 1)
	go func(s *delve.Session) {
		goroutine, thread, err := s.Selected()
		if err != nil || goroutine != 0 {
			thread = 0
		}
		found <- thread
	}(s)
	select {
	case tid = <-found:
		return tid, tid != 0
	case <-time.After(currentPatience):
		return 0, false
	}
}

// nameContinuedThread gives back the thread for which Delve was told 0.
func (p *Proxy) nameContinuedThread(m *dapwire.Message) {
	id := p.alias.id.Load()
	raw, _ := m.Get("body")
	body, err := dapwire.ParseObject(raw)
	if err != nil || id == 0 {
		return
	}
	if n, ok := body.Int("threadId"); ok && n == 0 {
		body.Set("threadId", strconv.AppendInt(nil, id, 10))
		m.Set("body", body.Bytes())
	}
}
