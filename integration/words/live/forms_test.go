//go:build linux

package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// clew runs clew, and returns what it prints.
func clew(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary("clew"), args...)
	cmd.Dir = t.TempDir() // Delve's terminal writes paths below the current folder with a dot
	cmd.WaitDelay = 10 * time.Second
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, &out, &stderr)
	}
	return out.String()
}

// stackOf runs clew stack, of the target's goroutine.
func stackOf(t *testing.T, at *target, flags ...string) string {
	t.Helper()
	args := append([]string{"stack"}, flags...)
	if at.goroutine != 0 {
		args = append(args, "--goroutine", strconv.FormatUint(at.goroutine, 10))
	}
	if at.core != "" {
		if at.goroutine == 0 && !slices.Contains(flags, "--goroutine") {
			args = append(args, "--goroutine", "current")
		}
		return clew(t, append(args, "--core", at.core, at.exe)...)
	}
	return clew(t, append(args, "--", at.exe, at.stop)...)
}

// findGoroutine finds the goroutine that is parked in the callback.
func findGoroutine(t *testing.T, at *target) {
	t.Helper()
	if at.goroutine != parkedGoroutine {
		return
	}
	all := *at
	all.goroutine = 0
	for _, s := range parse(t, stackOf(t, &all, "--format", "json", "--goroutine", "all")) {
		if slices.ContainsFunc(s.Frames, func(f stackjson.Frame) bool { return f.Function == "main.callback" }) {
			at.goroutine = s.Goroutine
			return
		}
	}
	t.Fatal("no goroutine is parked in the callback")
}

func parse(t *testing.T, text string) []stackjson.Stack {
	t.Helper()
	var answer stackjson.Answer
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Stacks) == 0 {
		t.Fatalf("%v: %.300s", err, text)
	}
	return answer.Stacks
}

// fromJSON are the rows of clew stack --format json.
func fromJSON(t *testing.T, at *target) (rows []row) {
	t.Helper()
	findGoroutine(t, at)
	for _, f := range parse(t, stackOf(t, at, "--format", "json"))[0].Frames {
		r := row{uint64(f.PC), f.Function, place{f.File, f.Line}}
		if f.Function == "" {
			r.name = fmt.Sprintf("%s+%#x", filepath.Base(f.Image), uint64(*f.Offset))
		}
		rows = append(rows, r)
	}
	return rows
}

// inText is a row as text has it: with the last folder of a path only.
func inText(r row) row {
	if r.file != "" {
		r.file = filepath.Join(filepath.Base(filepath.Dir(r.file)), filepath.Base(r.file))
	}
	return r
}

var (
	textRow  = regexp.MustCompile(`(?m)^ +(?:=>)?\d+  (?:context|cfi|frame-pointer|scan) +\S+ +0x([0-9a-f]+) +(.*)$`)
	textMark = regexp.MustCompile(` \[(?:inlined|interrupted|tail call)\]$`)
	gap      = regexp.MustCompile(`  +`)
)

// fromText are the rows of clew stack's table. Paths are short there.
func fromText(t *testing.T, at *target, style string) []row {
	t.Helper()
	return textRows(t, stackOf(t, at, "--names", style))
}

func textRows(t *testing.T, out string) (rows []row) {
	t.Helper()
	for _, m := range textRow.FindAllStringSubmatch(out, -1) {
		cells := append(gap.Split(m[2], 2), "")
		r := row{pc: number(t, m[1], 16), name: textMark.ReplaceAllString(cells[0], "")}
		if colon := strings.LastIndexByte(cells[1], ':'); colon >= 0 {
			r.place = place{cells[1][:colon], int(number(t, cells[1][colon+1:], 10))}
		} else if !strings.Contains(cells[1], "+0x") {
			r.file = cells[1]
		}
		rows = append(rows, r)
	}
	return rows
}

func number(t *testing.T, text string, base int) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, base, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var (
	terminalRow  = regexp.MustCompile(`(?m)^ *\d+  0x([0-9a-f]{16}) in (.*)\n +at (.*):(-?\d+)$`)
	terminalMark = regexp.MustCompile(` \[(?:by frame pointer|scanned: may be wrong)\]$`)
)

// inTerminal is a row as Delve's terminal shows it.
func inTerminal(r row) row {
	if r.file == "" {
		r.place = place{"?", -1}
	}
	return r
}

// fromTerminal are the rows of the terminal's stack.
func fromTerminal(t *testing.T, at *target, style string) (rows []row) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "script")
	lines := []string{"stack 300", "exit"}
	if at.goroutine != 0 {
		lines = append([]string{fmt.Sprintf("goroutine %d", at.goroutine)}, lines...)
	}
	args := []string{"core", at.exe, at.core}
	if at.core == "" {
		args, lines = []string{"exec", at.exe}, append([]string{"continue"}, lines...)
	}
	if err := os.WriteFile(script, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append(args, "--names", style, "--allow-non-terminal-interactive", "--init", script)
	if at.core == "" {
		args = append(args, "--", at.stop)
	}
	out := clew(t, args...)
	for _, m := range terminalRow.FindAllStringSubmatch(out, -1) {
		line, err := strconv.Atoi(m[4])
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row{number(t, m[1], 16), terminalMark.ReplaceAllString(m[2], ""), place{m[3], line}})
	}
	if len(rows) == 0 {
		t.Fatalf("no stack:\n%s", out)
	}
	return rows
}
