package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/offline"
)

func bareUnwinding() (*unwinding, error) {
	return &unwinding{flags: &unwindFlags{}, engine: engine.New(nil), opener: &offline.Opener{}, close: func() {}}, nil
}

// TestUnwindOrder: answers come in the order of their lines and files, however many workers
// there are, and each line that is not blank has one.
func TestUnwindOrder(t *testing.T) {
	const count = 3*batchLines + 7
	var text strings.Builder
	for i := 1; i <= count; i++ {
		switch {
		case i%50 == 0:
			text.WriteString("\n{\n")
		default:
			fmt.Fprintf(&text, `{"version":1,"arch":"amd64","os":"linux","images":[],"threads":[{"id":%d,"registers":{"rip":"0x1000","rsp":"0x2000"}}],"memory":[]}`+"\n", i)
		}
	}
	file := filepath.Join(t.TempDir(), "snapshots")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 3} {
		var out bytes.Buffer
		var notices []string
		p, end := newPool(context.Background(), workers, bareUnwinding, func(_ *batch, a answers) error {
			notices = append(notices, a.notices...)
			_, err := out.Write(a.out)
			return err
		})
		for _, name := range []string{file, "/nowhere", "-"} {
			if err := p.file(name, strings.NewReader(text.String())); err != nil {
				t.Fatal(err)
			}
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 2*count {
			t.Fatalf("%d workers: %d answers, want %d", workers, len(lines), 2*count)
		}
		for i, l := range lines {
			id := i%count + 1
			want := fmt.Sprintf(`{"stacks":[{"thread":%d,`, id)
			if id%50 == 0 {
				want = `{"error":`
			}
			if !strings.HasPrefix(l, want) {
				t.Fatalf("%d workers: answer %d is %s, want %s", workers, i, l, want)
			}
		}
		broken := count / 50
		if len(notices) != 2*broken+1 || !strings.Contains(notices[broken], "/nowhere") {
			t.Errorf("%d workers: %q", workers, notices)
		}
	}
}

// TestUnwindEnds: what ends the run ends it for all workers, and waits for none.
func TestUnwindEnds(t *testing.T) {
	full := errors.New("the disk is full")
	for what, c := range map[string]struct {
		work func() (*unwinding, error)
		done func(*batch, answers) error
	}{
		"no strategies":          {func() (*unwinding, error) { return nil, full }, func(*batch, answers) error { return nil }},
		"nothing can be written": {bareUnwinding, func(*batch, answers) error { return full }},
	} {
		p, end := newPool(context.Background(), 2, c.work, c.done)
		big := &repeatedLine{left: 10 * poolText}
		if err := p.file("-", big); !errors.Is(err, full) {
			t.Errorf("%s: %v", what, err)
		}
		if err := end(); !errors.Is(err, full) {
			t.Errorf("%s: in the end %v", what, err)
		}
		if big.left < poolText {
			t.Errorf("%s: it was read to its end", what)
		}
	}
}

// repeatedLine is a long text of short lines.
type repeatedLine struct{ left int }

// Read implements io.Reader.
func (r *repeatedLine) Read(p []byte) (int, error) {
	n := copy(p, "{\n")
	r.left -= n
	if r.left < 0 {
		return 0, os.ErrClosed
	}
	return n, nil
}
