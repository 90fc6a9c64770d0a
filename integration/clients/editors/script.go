package editors

import (
	"os"
	"path/filepath"
)

// script has an editor run a script of testdata, which writes what is shown into a file.
func (w *work) script(c command, name string, args func(path string) []string, env ...string) (shown, error) {
	path, err := filepath.Abs(filepath.Join("integration/clients/editors/testdata", name))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(w.folder, "shown")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return nil, err
	}
	_, failed := w.run(c.with(args(path)...), append(env, "SHOWN="+file)...)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return facts(string(text)), failed
}
