package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// What this command is started with to look addresses up itself.
const (
	childClew = "lookup-clew"
	childGo   = "lookup-go"
	childRate = "lookup-all"
)

// cost measures one process for each tool.
func cost(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	file, addrs := args[0], args[1:]
	for _, tool := range []struct {
		name string
		args []string
	}{
		{"clew", append([]string{self, childClew, file}, addrs...)},
		{"debug/dwarf: open, list units", append([]string{self, childGo, file}, addrs...)},
		{"addr2line -fi", append([]string{"addr2line", "-fie", file}, addrs...)},
		{"llvm-symbolizer-19", append([]string{"llvm-symbolizer-19", "--obj=" + file}, addrs...)},
	} {
		out, err := measure(tool.name, nil, tool.args)
		if err != nil {
			return err
		}
		if tool.name == "clew" {
			fmt.Print(string(out))
		}
	}
	return nil
}

// measure runs a tool, prints what it has used, and returns what it has said.
func measure(name string, in []byte, args []string) ([]byte, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	begin := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return nil, fmt.Errorf("%s: the system does not say what it has used", name)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Printf("%-32s %6.2f s, %6.2f s CPU %6d MB\n", name, time.Since(begin).Seconds(), cpu.Seconds(), use.Maxrss>>10)
	return out, nil
}

// rate measures how long n addresses over all of a file's code take, demangled, in text.
func rate(files []string, n int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, file := range files {
		addrs, err := sample(file, n)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		var in bytes.Buffer
		for _, a := range addrs {
			fmt.Fprintf(&in, "%#x\n", a)
		}
		fmt.Printf("%s: %d addresses\n", file, len(addrs))
		for _, args := range [][]string{{self, childRate, file}, {"llvm-symbolizer-19", "--obj=" + file, "--inlines"}} {
			if _, err := measure(filepath.Base(args[0]), in.Bytes(), args); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookUpAll answers addresses as llvm-symbolizer does.
func lookUpAll(args []string) error {
	f, err := open(args[0])
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		addr, err := strconv.ParseUint(in.Text(), 0, 64)
		if err != nil {
			return err
		}
		for _, c := range f.Calls(addr) {
			fmt.Fprintf(out, "%s\n%s:%d:%d\n", c.Function, c.File, c.Line, c.Column)
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// lookUp looks addresses up, and measures what that takes when all has been read.
func lookUp(args []string) error {
	f, err := open(args[0])
	if err != nil {
		return err
	}
	for _, arg := range args[1:] {
		addr, err := strconv.ParseUint(arg, 0, 64)
		if err != nil {
			return err
		}
		begin := time.Now()
		calls := f.Calls(addr)
		first := time.Since(begin)
		const rounds = 1000
		begin = time.Now()
		for range rounds {
			f.Calls(addr)
		}
		fmt.Printf("    %s: %d functions, first %v, then %v\n", arg, len(calls), first.Round(time.Microsecond), time.Since(begin)/rounds)
	}
	for _, err := range f.Problems() {
		fmt.Println("   ", err)
	}
	return nil
}

// lookUpGo opens the file as debug/elf does and lists its units.
func lookUpGo(args []string) error {
	f, err := elf.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		return err
	}
	for r := data.Reader(); ; r.SkipChildren() {
		e, err := r.Next()
		if err != nil || e == nil {
			return err
		}
		if _, err := data.Ranges(e); err != nil {
			return err
		}
	}
}
