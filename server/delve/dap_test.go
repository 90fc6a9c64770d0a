package delve

import "testing"

// TestNoProgram: a DAP session has no program before one was launched.
func TestNoProgram(t *testing.T) {
	d, err := StartDAP(DAPConfig{Backend: "default"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if s := d.Session(); s != nil {
		t.Errorf("there is a process before any was launched: %+v", s)
	}
}
