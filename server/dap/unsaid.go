package dap

import (
	"time"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire"
)

// What Delve's session leaves unsaid, clew says in its place.

// failed returns the stop in place of an error for the request that has begun this client's run: Delve has accepted it, has then failed by a
// panic, and tells of no stop.
func (s *sharing) failed(m *dapwire.Message) *dapwire.Message {
	s.mu.Lock()
	run, begun := s.run, s.runs
	s.mu.Unlock()
	if run == nil || run.Ended() || begun != m.RequestSeq {
		return m
	}
	var body dap.ErrorResponseBody
	text := "Internal Error"
	if m.Decode("body", &body) == nil && body.Error != nil {
		text = body.Error.Format
	}
	stop, err := dapwire.NewEvent(&dap.StoppedEvent{Event: event("stopped"), Body: dap.StoppedEventBody{
		Reason: "exception", Description: "runtime error", Text: text, ThreadId: int(s.last.Load()), AllThreadsStopped: true,
	}})
	if err != nil {
		return m
	}
	return stop
}

// pausePatience is how long Delve may take to answer a pause.
const pausePatience = time.Second

// answersPause has a pause answered, also where Delve does not: where it ends a download of debug information.
func (s *sharing) answersPause(m *dapwire.Message, pass func() error) (handle func() error) {
	return func() error {
		err := pass()
		time.AfterFunc(pausePatience, func() {
			if s.wire.Up.Forget(m.Seq) {
				s.wire.Client.Respond(m, nil)
			}
		})
		return err
	}
}
