package remote

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// replies serves a client answers by the request's method, and an empty one for any other.
func replies(t *testing.T, byMethod map[string]string) server {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	go func() {
		defer func() { _ = theirs.Close() }()
		requests := json.NewDecoder(bufio.NewReader(theirs))
		for {
			var request struct {
				Method string          `json:"method"`
				ID     json.RawMessage `json:"id"`
			}
			if requests.Decode(&request) != nil {
				return
			}
			result, ok := byMethod[strings.TrimPrefix(request.Method, "RPCServer.")]
			if !ok {
				result = "{}"
			}
			if _, err := theirs.Write([]byte(`{"id":` + string(request.ID) + `,"result":` + result + `,"error":null}`)); err != nil {
				return
			}
		}
	}()
	return server{rpc2.NewClientFromConn(ours)}
}

// TestEmptyAnswers: a server that answers without what was asked for is an error, and nil in its lists is
// left out.
func TestEmptyAnswers(t *testing.T) {
	s := replies(t, map[string]string{"ListThreads": `{"Threads":[null,{"id":7},null,{"id":3}]}`, "ListBreakpoints": `{"Breakpoints":[null]}`})
	if state, err := s.state(); state != nil || !errors.Is(err, errNothing) {
		t.Errorf("%v, %v", state, err)
	}
	if v, err := s.variable("runtime.g0", api.LoadConfig{}); v != nil || !errors.Is(err, errNothing) || !strings.Contains(err.Error(), "runtime.g0") {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := s.address("x"); !errors.Is(err, errNothing) {
		t.Error(err)
	}
	if list, err := s.listThreads(); err != nil || len(list) != 2 || list[0].ID != 3 || list[1].ID != 7 {
		t.Errorf("%v, %v", list, err)
	}
	if planted, err := (&Program{server: s}).breakpoints(); err != nil || len(planted) != 0 {
		t.Errorf("%v, %v", planted, err)
	}
}
