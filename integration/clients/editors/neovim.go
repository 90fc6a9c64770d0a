package editors

import (
	"os/exec"
	"strings"
)

// findNeovim finds Neovim and its plugins. From 0.7 on, nvim-dap 0.6.0 serves every version of Neovim.
func findNeovim(w *work) (f *found, err error) {
	f = &found{plugins: make(map[string]string)}
	if w.trixie != "" {
		var root string
		if f.command, root, err = w.debian("nvim", "neovim"); err != nil {
			return nil, err
		}
		f.env = []string{"VIMRUNTIME=" + root + "/usr/share/nvim/runtime"}
	} else {
		path, err := exec.LookPath("nvim")
		if err != nil {
			return nil, err
		}
		f.argv = []string{path}
	}
	out, err := w.run(f.with("--version"))
	if err != nil {
		return nil, err
	}
	versions := []string{strings.Replace(strings.SplitN(out, "\n", 2)[0], "NVIM v", "Neovim ", 1)}
	for _, p := range [][3]string{{"mfussenegger", "nvim-dap", "0.6.0"}, {"leoluz", "nvim-dap-go", ""}} {
		folder, version, err := w.plugin(p[0], p[1], p[2])
		if err != nil {
			return nil, err
		}
		f.plugins[p[1]], versions = folder, append(versions, version)
	}
	f.version = strings.Join(versions, ", ")
	return f, nil
}

func driveNeovim(w *work, f *found, adapter string) (shown, error) {
	return w.script(f.with("--headless", "-u", "NONE"), "neovim.lua", func(path string) []string { return []string{"-c", "luafile " + path} },
		"ADAPTER="+w.adapters[adapter], "PLUGINS="+f.plugins["nvim-dap"]+","+f.plugins["nvim-dap-go"])
}
