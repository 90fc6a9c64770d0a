package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// memoryOfServers measures the memory of a server and all processes that it starts,
// but for the program that is debugged.
func memoryOfServers(t *table, program string) error {
	t.title = "Memory of a server, beside `dlv dap`"
	t.notes = []string{"The proportional set size (PSS, proc_pid_smaps(5)) of the server and of every process below it but for the\n" +
		"program: after `initialize`, and a second after a stop in C with the whole stack of 50 frames asked for."}
	t.header = []string{"server", "after initialize", "processes", "at a stop", "processes"}
	servers, err := t.servers(filepath.Dir(program))
	if err != nil {
		return err
	}
	for _, s := range servers {
		e, err := connect(s.exe)
		if err != nil {
			return err
		}
		defer e.close()
		before, some, err := held(e.server.Cmd.Process.Pid, program)
		if err != nil {
			return err
		}
		if err := errors.Join(e.launch(s.exe, program, inC, 50), e.stack(0, 0, 1)); err != nil {
			return err
		}
		time.Sleep(time.Second) // a person looks at it longer
		at, all, err := held(e.server.Cmd.Process.Pid, program)
		if err != nil {
			return err
		}
		t.row(s.name, megabytes(before), fmt.Sprint(some), megabytes(at), fmt.Sprint(all))
	}
	return nil
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// held returns the PSS in bytes of a process and all below it, and how many these
// are, but for those that run the program.
func held(pid int, program string) (pss int64, processes int, err error) {
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || exe == program {
		return 0, 0, err
	}
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(rollup)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "Pss:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0, 0, err
			}
			pss = kb << 10
		}
	}
	below, err := children(pid)
	if err != nil {
		return 0, 0, err
	}
	processes = 1
	for _, child := range below {
		more, n, err := held(child, program)
		if err != nil {
			return 0, 0, err
		}
		pss, processes = pss+more, processes+n
	}
	return pss, processes, nil
}

// children lists the processes that any thread of one has started.
func children(pid int) (pids []int, err error) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, err
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			return nil, err
		}
		words := bufio.NewScanner(bytes.NewReader(text))
		words.Split(bufio.ScanWords)
		for words.Scan() {
			child, err := strconv.Atoi(words.Text())
			if err != nil {
				return nil, err
			}
			pids = append(pids, child)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}
