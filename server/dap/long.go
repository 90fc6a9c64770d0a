package dap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve/internals"
)

// maxDelveMessage is the longest request that Delve's session takes, in bytes. It
// ends for a longer one, and the program with it.
const maxDelveMessage = 4 << 20

// LongRequestError says that a request is too long for Delve.
type LongRequestError struct{ Length int }

// Error says how long it may be.
func (e *LongRequestError) Error() string {
	return fmt.Sprintf("the request has %d bytes, and Delve takes requests of up to %d", e.Length, maxDelveMessage)
}

// fits sees to it that a message of the client's is short enough for Delve, and
// gives it back, shortened if need be: blanks count too. What is too long all the
// same is refused, or dropped where nobody waits for an answer; the session goes
// on. Then the message is nil.
func (p *Proxy) fits(m *dapwire.Message, content []byte) *dapwire.Message {
	if len(content) <= maxDelveMessage {
		return m
	}
	if short, err := shorten(content); err == nil {
		if m, err := dapwire.Parse(short); err == nil {
			return m
		}
	}
	long := &LongRequestError{len(content)}
	p.opts.Log("client: %v", long)
	if m.Type == dapwire.TypeRequest {
		p.refuse(m, errMalformed, "Request too long", long.Error())
	}
	return nil
}

// shorten takes the blanks out of a message that is too long for Delve.
func shorten(content []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, content); err != nil {
		return nil, err // for Delve to refuse, if it were not too long
	}
	if b.Len() > maxDelveMessage {
		return nil, &LongRequestError{b.Len()}
	}
	return b.Bytes(), nil
}

// tooLong gives what the client gets instead of a message of Delve's that is
// longer than messages may be: an error, where it is an answer.
func (p *Proxy) tooLong(long *dapwire.LongError) ([]byte, error) {
	p.opts.Log("upstream: %v", long)
	found := internals.ResponseHead.FindSubmatch(long.Begin)
	if found == nil {
		return nil, nil // an event: nobody waits for it
	}
	seq, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		return nil, nil
	}
	m, err := dapwire.NewError(&dapwire.Message{Seq: seq, Command: string(found[2])}, errMalformed, "Answer too long",
		fmt.Sprintf("it has %d bytes, and maxMessage in clew's configuration is %d", long.Length, long.Limit))
	if err != nil {
		return nil, err
	}
	return m.Bytes(), nil
}
