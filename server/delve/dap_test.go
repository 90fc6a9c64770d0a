package delve

import "testing"

// TestDebuggerField: the one private field that clew reads is still there.
func TestDebuggerField(t *testing.T) {
	if err := checkDebuggerField(); err != nil {
		t.Error(err)
	}
	d, err := StartDAP(DAPConfig{Backend: "default"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if s := d.Session(); s != nil {
		t.Errorf("there is a process before any was launched: %+v", s)
	}
}
