package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/clewdbg/clew/server/dapwire"
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

// refuseLong makes the answer to a request that was not sent.
func refuseLong(m *dapwire.Message, long *LongRequestError) (*dapwire.Message, error) {
	return dapwire.NewError(m, Malformed, "Request too long", long.Error())
}

// bound makes a message of the client's short enough for Delve, where leaving out its
// blanks does. Else it refuses a request and drops any other message, and returns nil;
// the session goes on.
func (b *Bridge) bound(m *dapwire.Message, content []byte) *dapwire.Message {
	if len(content) <= maxDelveMessage {
		return m
	}
	if short, err := shorten(content); err == nil {
		if m, err := dapwire.Parse(short); err == nil {
			return m
		}
	}
	long := &LongRequestError{len(content)}
	b.opts.Log("client: %v", long)
	if m.Type == dapwire.TypeRequest {
		answer, err := refuseLong(m, long)
		b.Client.sendNew(answer, err)
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

// replaceLong makes an error of an answer of Delve's that is longer than messages may
// be. It returns nil for an event: no request waits for it.
func replaceLong(long *dapwire.LongError, head *regexp.Regexp) ([]byte, error) {
	found := head.FindSubmatch(long.Begin)
	if found == nil {
		return nil, nil
	}
	seq, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		return nil, nil
	}
	m, err := dapwire.NewError(&dapwire.Message{Seq: seq, Command: string(found[2])}, Malformed, "Answer too long",
		fmt.Sprintf("it has %d bytes, and maxMessage in clew's configuration is %d", long.Length, long.Limit))
	if err != nil {
		return nil, err
	}
	return m.Bytes(), nil
}
