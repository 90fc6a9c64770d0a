package dapwire

import (
	"encoding/json"
	"strconv"

	"github.com/google/go-dap"
)

// Types of messages.
const (
	TypeRequest  = "request"
	TypeResponse = "response"
	TypeEvent    = "event"
)

// Message is one message, of which only the outermost fields were read.
type Message struct {
	*Object
	Type    string
	Seq     int64
	Command string // of a request or response
	Event   string // of an event
	// Of a response:
	RequestSeq int64
	Success    bool
}

// Parse reads a message. The content must not be changed afterwards.
func Parse(content []byte) (*Message, error) {
	o, err := ParseObject(content)
	if err != nil {
		return nil, err
	}
	m := &Message{Object: o, Type: o.Text("type")}
	m.Seq, _ = o.Int("seq")
	switch m.Type {
	case TypeRequest:
		m.Command = o.Text("command")
	case TypeEvent:
		m.Event = o.Text("event")
	case TypeResponse:
		m.Command = o.Text("command")
		m.RequestSeq, _ = o.Int("request_seq")
		success, _ := o.Get("success")
		m.Success = string(success) == "true"
	}
	return m, nil
}

// SetSeq numbers the message.
func (m *Message) SetSeq(seq int64) {
	if seq != m.Seq {
		m.Seq = seq
		m.Set("seq", strconv.AppendInt(nil, seq, 10))
	}
}

// SetRequestSeq says which request a response answers.
func (m *Message) SetRequestSeq(seq int64) {
	if seq != m.RequestSeq {
		m.RequestSeq = seq
		m.Set("request_seq", strconv.AppendInt(nil, seq, 10))
	}
}

// Decode decodes a field (arguments, body) into v. Where the field is missing, v
// stays as it is.
func (m *Message) Decode(field string, v any) error {
	raw, ok := m.Get(field)
	if !ok {
		return nil
	}
	return json.Unmarshal(raw, v)
}

// NewRequest encodes a request to Delve; it has no number yet.
func NewRequest(r dap.RequestMessage) (*Message, error) {
	r.GetRequest().Type = TypeRequest
	return encode(r)
}

// NewEvent encodes an event; it has no number yet.
func NewEvent(e dap.EventMessage) (*Message, error) {
	e.GetEvent().Type = TypeEvent
	return encode(e)
}

// NewResponse encodes the answer to a request; it has no number yet. The body may be
// nil.
func NewResponse(request *Message, body any) (*Message, error) {
	r := &struct {
		dap.Response
		Body any `json:"body,omitempty"`
	}{responseTo(request), body}
	r.Success = true
	return encode(r)
}

// ErrorResponse is [dap.ErrorResponse] with a [ErrorMessage].
type ErrorResponse struct {
	dap.Response
	Body struct {
		Error ErrorMessage `json:"error"`
	} `json:"body"`
}

// ErrorMessage is [dap.ErrorMessage], whose showUser is always written. An editor may
// show an error that says nothing of it, and does not show one that says false.
type ErrorMessage struct {
	dap.ErrorMessage
	ShowUser *bool `json:"showUser,omitempty"`
}

// NewError refuses a request: with a short message, and the same with details for
// the user.
func NewError(request *Message, id int, message, details string) (*Message, error) {
	return newError(request, id, message, details, nil)
}

// NewQuietError is one that an editor does not show.
func NewQuietError(request *Message, id int, message, details string) (*Message, error) {
	return newError(request, id, message, details, new(bool))
}

func newError(request *Message, id int, message, details string, show *bool) (*Message, error) {
	r := &ErrorResponse{Response: responseTo(request)}
	r.Body.Error.ShowUser = show
	r.Message = message
	r.Body.Error.Id, r.Body.Error.Format = id, message+": "+details
	return encode(r)
}

func responseTo(request *Message) dap.Response {
	return dap.Response{ProtocolMessage: dap.ProtocolMessage{Type: TypeResponse}, RequestSeq: int(request.Seq), Command: request.Command}
}

func encode(m dap.Message) (*Message, error) {
	content, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return Parse(content)
}
