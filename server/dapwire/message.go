package dapwire

import (
	"encoding/json"
	"strconv"
)

// Types of messages.
const (
	TypeRequest  = "request"
	TypeResponse = "response"
	TypeEvent    = "event"
)

// Message is one message, of which only the outermost fields were looked at.
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

// NewRequest makes a request; it has no number yet.
func NewRequest(command string, arguments any) (*Message, error) {
	return build(struct {
		Seq       int64  `json:"seq"`
		Type      string `json:"type"`
		Command   string `json:"command"`
		Arguments any    `json:"arguments,omitempty"`
	}{0, TypeRequest, command, arguments})
}

// NewEvent makes an event; it has no number yet.
func NewEvent(event string, body any) (*Message, error) {
	return build(struct {
		Seq   int64  `json:"seq"`
		Type  string `json:"type"`
		Event string `json:"event"`
		Body  any    `json:"body,omitempty"`
	}{0, TypeEvent, event, body})
}

// NewResponse answers a request; it has no number yet.
func NewResponse(request *Message, body any) (*Message, error) {
	return build(response{Type: TypeResponse, RequestSeq: request.Seq, Success: true, Command: request.Command, Body: body})
}

// NewError refuses a request: a short message, and the same with what is to be
// known, for the user.
func NewError(request *Message, id int, message, details string) (*Message, error) {
	var body struct {
		Error struct {
			ID     int    `json:"id"`
			Format string `json:"format"`
		} `json:"error"`
	}
	body.Error.ID, body.Error.Format = id, message+": "+details
	return build(response{Type: TypeResponse, RequestSeq: request.Seq, Command: request.Command, Message: message, Body: body})
}

type response struct {
	Seq        int64  `json:"seq"`
	Type       string `json:"type"`
	RequestSeq int64  `json:"request_seq"`
	Success    bool   `json:"success"`
	Command    string `json:"command"`
	Message    string `json:"message,omitempty"`
	Body       any    `json:"body,omitempty"`
}

func build(v any) (*Message, error) {
	content, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return Parse(content)
}
