package main

import (
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// startAlone starts an editor's own session.
func startAlone(t *testing.T) *editor {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	s, err := built.serve("dap", "--listen=127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.terminate() })
	e, err := newEditor("editor", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.client.Close() })
	if err := e.launch(built.program); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestPipelined: a request that an editor sends right behind a resume, without waiting for its answer, holds up neither itself nor those behind it.
// (Delve holds its lock while the program runs.)
func TestPipelined(t *testing.T) {
	alone := map[string]func(*testing.T) *editor{
		"dap":      startAlone,
		"multi":    func(t *testing.T) *editor { return startBeside(t).editors[0] },
		"headless": func(t *testing.T) *editor { return start(t).editors[0] },
		"proxy":    func(t *testing.T) *editor { return startThrough(t).editors[0] },
	}
	for name, start := range alone {
		t.Run(name, func(t *testing.T) {
			e := start(t)
			for _, command := range []string{"next", "stepIn", "stepOut", "disassemble", "stackTrace", "loadedSources", "completions"} {
				pipelined(t, e, command)
			}
		})
	}
}

func pipelined(t *testing.T, e *editor, command string) {
	t.Helper()
	e.drain()
	arguments := map[string]any{"threadId": e.threadID(), "memoryReference": "0x401000", "instructionCount": 10, "text": "main.", "column": 5}
	commands := []string{"continue", command, "threads", "pause"}
	var answers []<-chan received
	for _, c := range commands {
		answer, err := e.send(c, arguments)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	late := time.After(testneed.Patience(answerLimit))
	for i, answer := range answers {
		select {
		case <-answer:
		case <-late:
			t.Fatalf("%s right behind a continue: %s is not answered", command, commands[i])
		}
	}
	if _, err := e.event("stopped"); err != nil {
		t.Fatal(err)
	}
}
