package reading

import "github.com/go-delve/delve/pkg/proc"

// Remembers says that Delve remembers the stack of the goroutine that is selected.
func Remembers(t *proc.Target) (bool, error) {
	r, err := slotsOf(t, t.SelectedGoroutine())
	return err == nil && r.known(), err
}
