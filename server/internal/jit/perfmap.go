package jit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Bounds on what is read.
const (
	maxMapSize = 256 << 20 // bytes of a perf map
	maxSymbols = 1 << 20
	maxName    = 4096 // bytes of one name
)

var errNotRegular = errors.New("not a regular file")

// OpenRegular opens a file that anyone may have put where perf maps are looked for, below
// the root of the process that it is of: no link leads out of that. It waits for no
// writer, and refuses what is no regular file.
func OpenRegular(root, path string) (*os.File, error) {
	below, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer below.Close()
	f, err := below.OpenFile(strings.TrimLeft(path, "/"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, errNotRegular)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadPerfMap reads the lines of a perf map, "START SIZE NAME" with numbers in
// hexadecimal. A line of another form is left out, the last one too where it does
// not end: its writer may not have finished. What exceeds the bounds is left out
// and named by the error; the symbols are good nevertheless.
func ReadPerfMap(r io.Reader) ([]Symbol, error) {
	var out []Symbol
	limited := &io.LimitedReader{R: r, N: maxMapSize}
	for in := bufio.NewReaderSize(limited, 1<<16); ; {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) { // no name is that long
			line, err = nil, skipLine(in)
		}
		switch {
		case errors.Is(err, io.EOF) && limited.N == 0:
			return out, fmt.Errorf("perf map: more than %d MiB", maxMapSize>>20)
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, fmt.Errorf("perf map: %w", err)
		}
		if s, ok := perfLine(bytes.TrimSuffix(line, []byte("\n"))); ok {
			if len(out) == maxSymbols {
				return out, fmt.Errorf("perf map: more than %d symbols", maxSymbols)
			}
			out = append(out, s)
		}
	}
}

func skipLine(in *bufio.Reader) error {
	for {
		if _, err := in.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// perfLine reads one line. perf itself takes numbers with 0x too.
func perfLine(line []byte) (Symbol, bool) {
	start, rest, _ := bytes.Cut(line, []byte(" "))
	size, name, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(name) == 0 {
		return Symbol{}, false
	}
	from, err := hex(start)
	if err != nil {
		return Symbol{}, false
	}
	n, err := hex(size)
	if err != nil || n == 0 || from+n < from {
		return Symbol{}, false
	}
	return Symbol{from, from + n, string(name[:min(len(name), maxName)])}, true
}

func hex(text []byte) (uint64, error) {
	return strconv.ParseUint(string(bytes.TrimPrefix(text, []byte("0x"))), 16, 64)
}
