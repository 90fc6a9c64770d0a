package export

import (
	"errors"
	"io"

	"github.com/clewdbg/clew/internal/unwind/snapshot"
)

func (s *Set) snapshot(w io.Writer) error {
	if s.Snapshot == nil {
		return errors.New("no snapshot: the memory that was read for the stacks was not kept")
	}
	snap, err := s.Snapshot()
	if err != nil {
		return err
	}
	return snapshot.Write(w, snap)
}
