package bounded

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
)

// maxAnswer is far above the longest answer of Delve's: the types of a large program.
const maxAnswer = 256 << 20

// ErrAnswer says that a server's answer is longer than can be kept.
var ErrAnswer = errors.New("its answer is too long")

// Answers is a connection to a Delve server, on which an answer that is too long or too deep is an error.
type Answers struct {
	net.Conn
	from *Reader
	why  atomic.Pointer[error]
}

// NewAnswers returns a connection over another one.
func NewAnswers(conn net.Conn) *Answers {
	return &Answers{Conn: conn, from: NewReader(conn, maxAnswer, ErrAnswer)}
}

// Read implements [net.Conn].
func (a *Answers) Read(p []byte) (int, error) {
	n, err := a.from.Read(p)
	if errors.Is(err, ErrAnswer) || errors.Is(err, ErrDeep) {
		a.why.CompareAndSwap(nil, &err)
	}
	return n, err
}

// Why returns [ErrAnswer] or [ErrDeep] where that has ended the connection: net/rpc tells it the call that was under way alone.
func (a *Answers) Why() error {
	if why := a.why.Load(); why != nil {
		return fmt.Errorf("the Delve server: %w", *why)
	}
	return nil
}
