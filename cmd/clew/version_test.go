package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/clewdbg/clew/internal/version"
)

func TestVersionJSON(t *testing.T) {
	root, err := commandTree()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs([]string{"version", "--json"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	var got version.Info
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	if got != version.Get() {
		t.Errorf("got %+v, want %+v", got, version.Get())
	}
}
