package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
)

// serveRPC passes bytes unchanged in both directions. It parses them too, to know
// which requests the server has not answered when it ends: they are answered with an
// error.
func (s *server) serveRPC(ctx context.Context, c *opening) {
	up, err := s.up.connect(ctx)
	if err != nil {
		s.Warn("%v: %v", c.RemoteAddr(), err)
		refuseRPC(c, err)
		linger(c)
		return
	}
	var waiting waiting
	requests := objects{limit: maxRequest, found: waiting.request}
	answers := objects{limit: maxAnswerHead, found: waiting.answer}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = pass(up, c, &requests)
		_ = closeWrite(up) // the server may still have something to say
	}()
	err = pass(c, up, &answers)
	if ids := waiting.left(); len(ids) > 0 && answers.whole() {
		s.Log("%v: the server ends (%v) with %d requests unanswered", c.RemoteAddr(), err, len(ids))
		for _, id := range ids {
			if writeRPCError(c, id, fmt.Sprintf("clew proxy: the connection to the Delve server at %s has ended", s.Upstream)) != nil {
				break
			}
		}
	}
	_, _ = c.Close(), up.Close()
	<-done
	s.up.ended(ctx)
}

// pass copies a stream, and feeds it to along first.
func pass(to io.Writer, from io.Reader, along *objects) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		along.feed(buf[:n])
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// Bounds on the bytes that are kept of an object to read its ID. An answer begins
// with its ID.
const (
	maxRequest    = 1 << 20
	maxAnswerHead = 256
)

// waiting are the IDs of requests that were not answered yet.
type waiting struct {
	mu  sync.Mutex
	ids []json.RawMessage
}

// maxWaiting bounds how many are kept.
const maxWaiting = 4096

func (w *waiting) request(object []byte, whole bool) {
	var r struct {
		ID json.RawMessage `json:"id"`
	}
	if !whole || json.Unmarshal(object, &r) != nil || r.ID == nil {
		return // it gets no error if the server ends
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ids) < maxWaiting {
		w.ids = append(w.ids, r.ID)
	}
}

func (w *waiting) answer(object []byte, _ bool) {
	id, ok := leadingID(object)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.IndexFunc(w.ids, func(r json.RawMessage) bool { return string(r) == string(id) }); i >= 0 {
		w.ids = slices.Delete(w.ids, i, i+1)
	}
}

func (w *waiting) left() []json.RawMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ids)
}

// writeRPCError answers a request.
func writeRPCError(w io.Writer, id json.RawMessage, text string) error {
	answer, err := json.Marshal(struct {
		ID     json.RawMessage `json:"id"`
		Result any             `json:"result"`
		Error  string          `json:"error"`
	}{id, nil, text})
	if err != nil {
		return err
	}
	_, err = w.Write(append(answer, '\n'))
	return err
}

// refuseRPC answers a client's first request with an error: there is no server
// for it.
func refuseRPC(c net.Conn, cause error) {
	var r struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.NewDecoder(io.LimitReader(c, maxRequest)).Decode(&r); err != nil || r.ID == nil {
		return
	}
	_ = writeRPCError(c, r.ID, "clew proxy: "+cause.Error())
}
