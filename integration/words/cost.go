package main

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// What this command is started with to look addresses up itself.
const (
	childClew = "lookup-clew"
	childGo   = "lookup-go"
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
		cmd := exec.Command(tool.args[0], tool.args[1:]...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", tool.name, err)
		}
		use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			return fmt.Errorf("%s: the system does not say what it has used", tool.name)
		}
		cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		fmt.Printf("%-32s %6.2f s CPU %6d MB\n", tool.name, cpu.Seconds(), use.Maxrss>>10)
		if tool.name == "clew" {
			fmt.Print(string(out))
		}
	}
	return nil
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
