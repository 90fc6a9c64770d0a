package crashreport

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/crashguard"
	"github.com/clewdbg/clew/server/export"
)

const whole = `{"version":1,"producer":"clew","program":"app","pid":7,"os":"linux","architecture":"amd64",
"crash":{"signal":"SIGSEGV","description":"a read at 0x8: unmapped","thread":7,"frame":0},
"stacks":[{"thread":7,"frames":[{"index":0,"kind":"pc","pc":"0x401000","strategy":"registers","trust":"context","function":"f"}],"stop":"end"},
{"goroutines":[3,4],"count":2,"goroutine":3,"frames":[],"stop":"truncated"}],"images":[{"base":"0x400000","endOfText":"0x402000","buildID":"ab"}]}`

// FuzzParse: whatever report.json holds, it is an error or a report that a page is made of.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"version":1,"crash":{"frame":9},"architecture":"amd64","stacks":[{}]}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			return
		}
		var page bytes.Buffer
		_ = r.Page(&page, export.TextOptions{}) // frames of unknown kinds are errors
		_, _ = r.ImageMap()
	})
}

func TestParse(t *testing.T) {
	r, err := Parse([]byte(whole))
	if err != nil || len(r.Stacks) != 2 {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := r.Page(&page, export.TextOptions{}); err != nil || !bytes.HasPrefix(page.Bytes(), []byte("SIGSEGV: a read at 0x8: unmapped\n  in f\n")) || !bytes.Contains(page.Bytes(), []byte("app, process 7: 2 goroutines, 1 thread")) {
		t.Errorf("%v\n%s", err, page.String())
	}
	for _, text := range []string{"", "{}", `{"version":1}`, `{"version":1,"crash":{},"stacks":[],"architecture":"amd64"}`, `{"version":1,"crash":{},"stacks":[{}],"architecture":"pdp11"}`} {
		if r, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

// TestStore: the oldest reports go first, what writers have left behind goes, and other files stay.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	now := time.Now().UTC()
	make := func(name string) string {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		return name
	}
	report := func(age time.Duration) string { return make(now.Add(-age).Format(stamp) + "-app-1" + ending) }
	old, recent, other := report(48*time.Hour), report(time.Hour), make("other")
	abandoned := make("." + now.Add(-time.Hour).Format(stamp) + "-app-2" + ending + pending)
	o := &crashguard.Options{Dir: dir, Pid: 9, Keep: 3, Age: 24 * time.Hour, PerMin: 2}
	files := map[string][]byte{JSONFile: []byte(whole)}
	path, err := Write(o, "../a b", files)
	if err != nil || filepath.Dir(path) != dir {
		t.Fatal(path, err)
	}
	if r, err := Read(path); err != nil || r.Pid != 7 {
		t.Error(r, err)
	}
	for name, stays := range map[string]bool{old: false, recent: true, other: true, abandoned: false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
	time.Sleep(2 * time.Millisecond) // names have milliseconds
	if _, err := Write(o, "app", files); err != nil {
		t.Error(err)
	}
	if _, err := Write(o, "app", files); !errors.Is(err, ErrTooMany) {
		t.Errorf("a third one in a minute: %v", err)
	}
	if all, err := List(dir); err != nil || len(all) != 3 {
		t.Errorf("%v, %v", all, err)
	}
}
