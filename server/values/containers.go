package values

// container is a value that is shown as what it holds: a vector as its elements.
type container interface {
	counts() Count
	named() []*Value
	indexed(start, count int) []*Value
	write(w *writer, deeper int)
}

// container returns how a value is shown that holds others, nil if it is shown as it lies in memory.
func (v *Value) container() container { return nil }
