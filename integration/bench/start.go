package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdbg/clew/imagemap"
)

// Debian's packages librados-dev and librados2-dbg: a library, and the largest debug
// file that goes with a library of Debian's.
const largeLibrary = "/usr/lib/x86_64-linux-gnu/ceph/libceph-common.so.2"

// started is a program that sessions are started with.
type started struct {
	name, source string
	cgo          bool
	nodebug      bool   // no debug file is looked for
	needs        string // Debian's packages whose debug files are installed, by one of their files
	packages     string
	frame        string // which the stack must have
}

var startedPrograms = []started{
	{name: "Go alone", source: "goalone", frame: "main.inside"},
	{name: "C++, no debugging information of libraries", source: "sorts", cgo: true, nodebug: true, frame: "sorts"},
	{name: "C++, that of glibc", source: "sorts", cgo: true, needs: "/usr/lib/x86_64-linux-gnu/libc.so.6", packages: "libc6-dbg", frame: "sorts"},
	{name: "librados, 262 MB of it", source: "librados", cgo: true, needs: largeLibrary, packages: "librados-dev, librados2-dbg", frame: "MonMap"},
}

// starts measures what a person waits for first, and the memory that is held then.
func starts(t *table, program string) error {
	t.title = "Start to the first stack, beside `dlv dap`"
	t.notes = []string{"From the start of a server's process to the first stack that it shows (60 frames), in a new process each time, and the proportional set size of all\n" +
		"its processes but for the program a second later. The first time means that nothing was read before: the cache of decompressed sections is empty."}
	t.header = []string{"program", "dlv dap", "clew dap", "against dlv", "the first time", "against dlv", "its first stack alone", "memory of dlv", "of clew", "against dlv"}
	folder := filepath.Dir(program)
	servers, err := t.servers(folder)
	if err != nil {
		return err
	}
	for _, p := range startedPrograms {
		if _, err := debugFileOf(p.needs); p.needs != "" && err != nil {
			t.notes = append(t.notes, fmt.Sprintf("Not measured: %s: %v (Debian: %s)", p.name, err, p.packages))
			continue
		}
		if err := startRow(t, &p, folder, servers[0].exe, servers[1].exe); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func startRow(t *table, p *started, folder, dlv, clew string) error {
	exe := filepath.Join(folder, p.source)
	build := exec.Command("go", "build", "-o", exe, "./integration/bench/testdata/"+p.source)
	if !p.cgo {
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	env, err := p.environment(folder)
	if err != nil {
		return err
	}
	cache := filepath.Join(folder, "cache")
	var all [3]firsts // of dlv; of clew; of clew, the first time
	for round := range t.rounds {
		for i := range all {
			at := (i + round) % len(all)
			server := []string{dlv, clew, clew}[at]
			home := cache
			if at == 2 {
				if home, err = os.MkdirTemp(folder, "cache"); err != nil {
					return err
				}
			}
			if err := os.MkdirAll(home, 0o700); err != nil {
				return err
			}
			if at == 1 && round == 0 { // fill it
				if err := new(firsts).add(server, exe, p.frame, append(env, "XDG_CACHE_HOME="+home)); err != nil {
					return err
				}
			}
			if err := all[at].add(server, exe, p.frame, append(env, "XDG_CACHE_HOME="+home)); err != nil {
				return err
			}
		}
	}
	peer, own, first := &all[0], &all[1], &all[2]
	t.row(p.name, milliseconds(peer.whole), milliseconds(own.whole), times(median(own.whole), median(peer.whole)),
		milliseconds(first.whole), times(median(first.whole), median(peer.whole)), milliseconds(own.stack),
		megabytes(int64(median(peer.memory))), megabytes(int64(median(own.memory))), times(int64(median(own.memory)), int64(median(peer.memory))))
	return nil
}

// environment is that of the servers. Both read the folders of debug files from their configuration.
func (p *started) environment(folder string) ([]string, error) {
	if !p.nodebug {
		return os.Environ(), nil
	}
	home, none := filepath.Join(folder, "config"), filepath.Join(folder, "none")
	conf, err := json.Marshal(map[string]any{"debugFolders": []string{none}})
	for name, text := range map[string]string{"dlv/config.yml": "debug-info-directories: [" + none + "]\n", "clew/clew.json": string(conf)} {
		path := filepath.Join(home, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	return append(os.Environ(), "XDG_CONFIG_HOME="+home), err
}

// firsts are the first stacks of sessions.
type firsts struct {
	whole, stack []time.Duration
	memory       []float64
}

// add starts a session.
func (f *firsts) add(server, program, frame string, env []string) error {
	begin := time.Now()
	e, err := connectIn(env, server)
	if err != nil {
		return err
	}
	defer e.close()
	if err := e.launch(server, program, where{location: "main.inside"}, 0); err != nil {
		return err
	}
	stop := time.Now()
	var body struct {
		StackFrames []struct {
			Name   string
			Source struct{ Name string }
		}
	}
	if err := e.request("stackTrace", map[string]any{"threadId": e.thread, "levels": 60}, &body); err != nil {
		return err
	}
	f.whole, f.stack = append(f.whole, time.Since(begin)), append(f.stack, time.Since(stop))
	time.Sleep(time.Second) // a person looks at it longer
	pss, _, err := held(e.server.Cmd.Process.Pid, program)
	if err != nil {
		return err
	}
	f.memory = append(f.memory, float64(pss))
	for _, s := range body.StackFrames {
		if strings.Contains(s.Name+s.Source.Name, frame) {
			return nil
		}
	}
	return fmt.Errorf("%s shows no frame of %s: %+v", filepath.Base(server), frame, body.StackFrames)
}

func milliseconds(all []time.Duration) string {
	return fmt.Sprintf("%.0f ms", float64(median(all))/float64(time.Millisecond))
}

func times[T ~int64](a, b T) string { return fmt.Sprintf("%.2f x", float64(a)/float64(b)) }

// debugFileOf finds the debug file of a library.
func debugFileOf(path string) (string, error) {
	library, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer library.Close()
	id, err := imagemap.ReadBuildID(library)
	if err != nil {
		return "", err
	}
	hex := fmt.Sprintf("%x", id)
	debug := filepath.Join("/usr/lib/debug/.build-id", hex[:2], hex[2:]+".debug")
	_, err = os.Stat(debug)
	return debug, err
}
