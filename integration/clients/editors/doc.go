// Package editors has real editors debug a program of Go and C, by scripts, with clew and with dlv:
//
//	go run ./integration/clients editors [-only NAME] [-trixie DIR] [-plugins DIR] [-o docs/editors.md]
//	go run ./integration/clients editors -capabilities [-o docs/editors.md]
//
// Neovim (with nvim-dap and nvim-dap-go), Emacs (with dape) and Helix launch the program of the extension's tests, stop at a
// breakpoint in C, show the stack, step out of C twice, restart, and terminate. What is compared is what the editor shows, not
// what it was sent: Neovim's and Emacs's own state, read by a script in them, and Helix's screen, by tmux.
//
// Editors are taken from PATH. With -trixie they are those of Debian 13, which needs no root: apt downloads them into that
// folder, where they stay for the next time. Plugins that are not in the folder -plugins are cloned from GitHub. An
// editor that cannot be had is left out, and it is said what is missing.
//
// The second form compares what clew, dlv and Debian's lldb-dap offer to an editor.
//
// The exit status is 1 when an editor shows anything else with clew than expected, or when none was tried.
package editors
