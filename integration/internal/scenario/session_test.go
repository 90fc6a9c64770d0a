package scenario

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/dapwire"
)

// peer answers each request with an event and a body, and refuses those of the command "bad".
func peer(conn net.Conn) {
	r := dapwire.NewReader(conn, 0)
	for {
		content, err := r.Read()
		if err != nil {
			return
		}
		m, err := dapwire.Parse(content)
		if err != nil {
			return
		}
		event := `{"seq":1,"type":"event","event":"output","body":{"category":"stdout","output":"> [Go 7]: said\n","line":3}}`
		answer := fmt.Sprintf(`{"seq":2,"type":"response","request_seq":%d,"command":%q,"success":%v,"body":{"result":"5","list":[{"id":1,"name":"x"},{"id":2,"name":"y"}]}}`,
			m.Seq, m.Command, m.Command != "bad")
		if dapwire.Write(conn, []byte(event)) != nil || dapwire.Write(conn, []byte(answer)) != nil {
			return
		}
	}
}

// TestWrongSessions: what is not as a session's file says is an error, which names it.
func TestWrongSessions(t *testing.T) {
	play := func(text string) error {
		ours, theirs := net.Pipe()
		defer ours.Close()
		go peer(theirs)
		return newSession(ours, []string{"want=5"}, func(path string) string { return path }).play(text)
	}
	if err := play("# right\nx => $want\nx =~ ^5$\n! bad {}\n? bad {}\nevaluate {}\n~ \"result\":\"5\"\n!~ nothing\nsave id list.name=y.id\n~ \"id\":$id\n" +
		"capture n \"result\":\"(\\d)\"\nx => $n\noutput said\nline {}\neach 5 5 : x => $it ; evaluate {}"); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"x => 6": "x is 5, want 6", "x =~ ^6": "want ^6", "bad {}": "the answer is", "! good {}": "the answer is", "evaluate {}\n~ nothing": "line 2", "evaluate {}\n!~ result": "it is {",
		"evaluate {}\nsave id list.2": "no 2 in", "evaluate {}\nsave id list.name=z.id": "no name=z in", "evaluate {}\nlogged other": "it has logged said", "evaluate {": "line 1",
		"each 5 6 : x => $it": "want 6", "write x => 6": "x is 5, want 6",
	} {
		if err := play(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestCompare: another field, another order of events and missing output are differences; numbers of messages and addresses are none.
func TestCompare(t *testing.T) {
	messages := func(texts ...string) (out []*dapwire.Message) {
		for _, text := range texts {
			m, err := dapwire.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, m)
		}
		return out
	}
	const (
		answer = `{"seq":3,"type":"response","request_seq":1,"command":"evaluate","success":true,"body":{"result":"0x1234"}}`
		moved  = `{"seq":4,"type":"response","request_seq":1,"command":"evaluate","success":true,"body":{"result":"0x5678"}}`
		other  = `{"seq":3,"type":"response","request_seq":1,"command":"evaluate","success":true,"body":{"result":"x"}}`
		one    = `{"seq":5,"type":"event","event":"stopped","body":{"reason":"step"}}`
		two    = `{"seq":6,"type":"event","event":"terminated"}`
		said   = `{"seq":7,"type":"event","event":"output","body":{"category":"stdout","output":"hello"}}`
	)
	if d := Compare(messages(answer, one, two, said), messages(moved, one, two, said)); len(d) != 0 {
		t.Error(d)
	}
	for _, clew := range [][]string{{other, one, two, said}, {answer, two, one, said}, {answer, one, two}, {one, two, said}} {
		if d := Compare(messages(answer, one, two, said), messages(clew...)); len(d) != 1 {
			t.Errorf("%q: %q", clew, d)
		}
	}
}
