package terminal

import (
	"errors"
	"reflect"
	"testing"

	"github.com/go-delve/delve/service/rpc2"
	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/internals"
)

// TestTakeOver: Delve has every command that clew takes over, with every flag that it
// reads; where it has not, the error names the entry.
func TestTakeOver(t *testing.T) {
	root := delve.CommandTree()
	if taken, err := TakeOver(root, func() Options { return Options{} }); err != nil || len(taken) != len(commands)-1 { // all but connect
		t.Errorf("%d commands taken over, %v", len(taken), err)
	}
	var changed *internals.Error
	for name := range commands {
		root := delve.CommandTree()
		for _, c := range root.Commands() {
			if c.Name() == name {
				root.RemoveCommand(c)
			}
		}
		if _, err := TakeOver(root, nil); !errors.As(err, &changed) || changed.Entry != internals.EntryCommands {
			t.Errorf("without %s: %v", name, err)
		}
	}
	bare := &cobra.Command{}
	for name := range commands {
		bare.AddCommand(&cobra.Command{Use: name})
	}
	if _, err := TakeOver(bare, nil); !errors.As(err, &changed) {
		t.Errorf("without flags: %v", err)
	}
}

// TestReadFlags: flags are read as Delve's command line has them, and those that a
// command does not have are as if they were not given.
func TestReadFlags(t *testing.T) {
	root := delve.CommandTree()
	var c *cobra.Command
	for _, each := range root.Commands() {
		if each.Name() == "attach" {
			c = each
		}
	}
	if err := c.ParseFlags([]string{"--headless", "--listen=:1", "--api-version=1", "--waitfor=x", "--waitfor-interval=2.5", "-r", "stdout:a"}); err != nil {
		t.Fatal(err)
	}
	f := readFlags(c)
	if !f.headless || f.listen != ":1" || f.apiVersion != 1 || f.waitFor != "x" || f.waitForInterval != 2.5 || f.tty != "" || !f.rrCleanup ||
		len(f.redirects) != 1 || f.redirects[0] != "stdout:a" {
		t.Errorf("%+v", f)
	}
}

// TestTable: every method of Delve's interface is answered, with the types that Delve's has.
func TestTable(t *testing.T) {
	own := (&rpcClient{server: &server{}}).table()
	theirs := reflect.TypeFor[*rpc2.RPCServer]()
	for i := range theirs.NumMethod() {
		m := theirs.Method(i)
		if m.Type.NumIn() != 3 {
			t.Errorf("%s has %d arguments", m.Name, m.Type.NumIn()-1)
			continue
		}
		f := reflect.TypeOf(own[m.Name])
		if f == nil || f.In(0) != m.Type.In(1) || f.In(1) != m.Type.In(2) {
			t.Errorf("%s: %v, and Delve's is %v", m.Name, f, m.Type)
		}
		delete(own, m.Name)
	}
	delete(own, "GetVersion")
	delete(own, "SetApiVersion")
	if len(own) > 0 {
		t.Errorf("Delve has none of %v", own)
	}
}
