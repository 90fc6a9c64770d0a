package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"testing"
)

// TestServersErrorIsPrintable: what a server answers with as an error reaches a terminal without control characters; its lines stay lines.
func TestServersErrorIsPrintable(t *testing.T) {
	client, server := net.Pipe()
	defer func() { _, _ = client.Close(), server.Close() }()
	go func() {
		var req struct {
			ID int `json:"id"`
		}
		if json.NewDecoder(server).Decode(&req) == nil {
			_, _ = fmt.Fprintf(server, `{"id":%d,"result":null,"error":"e\u001b[2J\u0007\u202e\nsecond line"}`+"\n", req.ID)
		}
	}()
	err := NewUpstream(client, errors.New("lost")).call("State", struct{}{}, new(struct{}))
	if want := `e\x1b[2J\a\u202e` + "\nsecond line"; err == nil || err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}
