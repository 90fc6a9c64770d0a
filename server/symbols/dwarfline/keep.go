package dwarfline

// Keep returns what a reader of the table has kept with it, made once: it lasts as long as the table.
func (t *Table) Keep(create func() any) any {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil {
		t.kept = create()
	}
	return t.kept
}
