package editors

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// oldest is the oldest Emacs that dape runs in.
const oldest = 29

// findEmacs finds Emacs, and dape: a package of Debian 13's, or a clone.
func findEmacs(w *work) (f *found, err error) {
	f = &found{plugins: make(map[string]string)}
	if w.trixie != "" {
		var root string
		if f.command, root, err = w.debian("emacs-nox", "emacs-nox", "elpa-dape"); err != nil {
			return nil, err
		}
		f.inFolder(root)
	} else {
		path, err := exec.LookPath("emacs")
		if err != nil {
			return nil, err
		}
		f.argv = []string{path}
	}
	out, err := w.run(f.with("--batch", "-Q", "--eval", "(princ emacs-version)"))
	if err != nil {
		return nil, err
	}
	version, major := lastLines(out, 1), 0
	if _, err := fmt.Sscanf(version, "%d.", &major); err != nil || major < oldest {
		return nil, fmt.Errorf("this is Emacs %s; dape needs %d (Debian 13 has it: -trixie)", version, oldest)
	}
	f.version = "Emacs " + version
	if folder := f.plugins["dape"]; folder != "" {
		f.version += ", " + strings.Replace(filepath.Base(folder), "-", " ", 1)
		return f, nil
	}
	folder, dape, err := w.plugin("svaante", "dape", "")
	f.plugins["dape"], f.version = folder, f.version+", "+dape
	return f, err
}

// inFolder has an Emacs run whose files are not where it was built for.
func (f *found) inFolder(root string) {
	one := func(pattern string) string {
		names, _ := filepath.Glob(filepath.Join(root, pattern))
		return strings.Join(names, "")
	}
	f.env = []string{
		"EMACSLOADPATH=" + one("usr/share/emacs/[0-9]*/lisp") + ":", "EMACSDATA=" + one("usr/share/emacs/[0-9]*/etc"),
		"EMACSPATH=" + one("usr/libexec/emacs/*/*"),
	}
	f.argv = append(f.argv, "--dump-file="+one("usr/libexec/emacs/*/*/*.pdmp"))
	f.plugins["dape"] = one("usr/share/emacs/site-lisp/elpa-src/dape-*")
}

func driveEmacs(w *work, f *found, adapter string) (shown, error) {
	return w.script(f.with("-Q", "--batch", "-L", f.plugins["dape"]), "dape.el", func(path string) []string { return []string{"-l", path} },
		"ADAPTER="+w.adapters[adapter])
}
