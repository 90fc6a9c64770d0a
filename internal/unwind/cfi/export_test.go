package cfi

// At returns the FDE at an offset in the section, which is that of its length.
// Compact unwind names FDEs that way.
func (t *Table) At(offset uint64) (FDE, error) {
	f, live, err := t.at(offset)
	switch {
	case err != nil:
		return FDE{}, err
	case !live:
		return FDE{}, t.errorf(offset, "FDE: its code was discarded")
	}
	return f, nil
}
