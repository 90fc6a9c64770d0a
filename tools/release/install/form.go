package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// form is a form of a release.
type form struct {
	heading string // of its section in docs/install.md
	file    string // as path.Match has it
	written string // the file's name in docs/install.md
}

var forms = []form{
	{"Debian and Ubuntu", "clew_*_amd64.deb", "clew_1.28.0_amd64.deb"},
	{"Archive", "clew_*_linux_amd64.tar.gz", "clew_1.28.0_linux_amd64.tar.gz"},
}

// step is something that a user does with clew, as a shell script, and what its output
// must show, in order.
type step struct {
	name, script string
	shows        []string
}

var steps = []step{
	{"version", "! command -v go; clew version", []string{"clew v"}},
	{"demo", "clew demo", []string{"No go command found", "main.refill", "main.brew", "end: runtime.goexit", "found equal"}},
	{"a session in the terminal", `printf 'break main.refill\ncontinue\nstack\nexit\n' > /tmp/commands
clew exec --allow-non-terminal-interactive --init /tmp/commands /srv/brew </dev/null
rm /tmp/commands`, []string{"main.refill", "in crush", "in grind", "main.brew", "main.main"}},
	{"clew stack --break", "clew stack --break froth -- /srv/brew", []string{"froth", "main.refill", "crosscall2", "crush", "grind", "main.main", "end: runtime.goexit"}},
	{"clew stack --pid", `/srv/brew wait & pid=$!
sleep 1
clew stack --pid $pid --goroutine all
kill -0 $pid
kill $pid`, []string{"goroutines", "froth", "main.refill", "crush", "grind", "main.main", "runtime.goexit"}}, // cut off would be exit code 3
	{"manual page", "man -P cat clew-stack", []string{"NAME", "clew-stack", "--pid"}},
	{"completion", `bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader clew
complete -p clew
COMP_WORDS=(clew sta) COMP_CWORD=1 COMP_LINE="clew sta" COMP_POINT=8; __start_clew; echo "${COMPREPLY[@]}"'`, []string{"__start_clew clew", "stack"}},
}

// try installs clew in a copy of base, as the page says, uses it, and removes it.
func (f form) try(page, base, dist, brew, root string) error {
	fmt.Println(f.heading)
	install, remove, err := f.scripts(page)
	if err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(dist, f.file))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%d files %s in %s: %w", len(found), f.file, dist, err)
	}
	if _, err := output("cp", "-a", base, root); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, "root", ".config"), 0o700); err != nil { // as most users have it
		return err
	}
	for from, to := range map[string]string{brew: "srv", found[0]: "root"} {
		if _, err := output("cp", from, filepath.Join(root, to)); err != nil {
			return err
		}
	}
	before, err := list(root)
	if err != nil {
		return err
	}
	rename := strings.NewReplacer(f.written, filepath.Base(found[0]))
	all := append([]step{{"install", rename.Replace(install), nil}}, steps...)
	for _, s := range append(all, step{"remove", remove + "! command -v clew\n", nil}) {
		start := time.Now()
		if err := s.run(root); err != nil {
			return err
		}
		fmt.Printf("  %s: ok, %.1f s\n", s.name, time.Since(start).Seconds())
	}
	after, err := list(root)
	if err != nil {
		return err
	}
	if left := difference(before, after); len(left) > 0 {
		return fmt.Errorf("it leaves behind:\n%s", strings.Join(left, "\n"))
	}
	fmt.Printf("  nothing is left: %d files as before\n", len(before))
	return nil
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// scripts are the form's commands in docs/install.md: how to install, and how to remove.
func (f form) scripts(page string) (install, remove string, err error) {
	_, section, ok := strings.Cut(page, "\n## "+f.heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := shellBlock.FindAllStringSubmatch(section, -1)
	if !ok || len(blocks) != 2 || !strings.Contains(blocks[0][1], f.written) {
		return "", "", fmt.Errorf("docs/install.md has no two blocks of commands below it, with %s in the first", f.written)
	}
	return blocks[0][1], blocks[1][1], nil
}

// run runs the step in the root, where nothing outlives it.
func (s step) run(root string) error {
	const enter = `mount -t proc proc "$1/proc" && exec chroot "$1" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb DEBIAN_FRONTEND=noninteractive sh -eu -c "cd; $2"`
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, "sh", root, s.script)
	cmd.Env = os.Environ()
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", s.name, err, out)
	}
	rest := string(out)
	for _, words := range s.shows {
		_, after, found := strings.Cut(rest, words)
		if !found {
			return fmt.Errorf("%s: %q is missing or too early in\n%s", s.name, words, out)
		}
		rest = after
	}
	return nil
}
