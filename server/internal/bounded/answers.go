package bounded

import (
	"errors"
	"net"
	"sync/atomic"
)

// maxAnswer is far above the longest answer of Delve's: the types of a large program.
const maxAnswer = 256 << 20

// ErrAnswer says that a server's answer is longer than can be kept.
var ErrAnswer = errors.New("the server's answer is too long")

// Answers is a connection to a Delve server, on which an answer that is too long is an error.
type Answers struct {
	net.Conn
	from *Reader
	long atomic.Bool
}

// NewAnswers returns a connection over another one.
func NewAnswers(conn net.Conn) *Answers {
	return &Answers{Conn: conn, from: NewReader(conn, maxAnswer, ErrAnswer)}
}

// Read implements [net.Conn].
func (a *Answers) Read(p []byte) (int, error) {
	n, err := a.from.Read(p)
	if errors.Is(err, ErrAnswer) {
		a.long.Store(true)
	}
	return n, err
}

// Why returns [ErrAnswer] where that has ended the connection: net/rpc tells it the call that was under way alone.
func (a *Answers) Why() error {
	if a.long.Load() {
		return ErrAnswer
	}
	return nil
}
