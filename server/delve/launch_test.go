package delve

import (
	"path/filepath"
	"testing"
)

// TestLaunchWatch: who watches launches is told the absolute path.
func TestLaunchWatch(t *testing.T) {
	var told []string
	watch := &launchWatch{tell: func(path string) { told = append(told, path) }}
	watch.starts("/d")
	watch.starts("e")
	here, _ := filepath.Abs("e")
	if len(told) != 2 || told[0] != "/d" || told[1] != here {
		t.Errorf("%q", told)
	}
	(*launchWatch)(nil).starts("/f") // no one is to be told
}
