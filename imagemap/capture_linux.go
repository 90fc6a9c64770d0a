package imagemap

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Capture makes the image map of a live process of this system. Memory reads the
// memory of the process, the address as the offset (/proc/PID/mem will do); it
// may be nil, and then the vdso is missing, and deleted files are known only as
// far as the kernel lets this process open them.
//
// The process should be stopped: an image that is loaded meanwhile may be missed. For the
// errors see [Source.Capture]; that of a process which is gone wraps
// fs.ErrNotExist, that of another user's fs.ErrPermission.
func Capture(pid int, memory io.ReaderAt) (*ImageMap, error) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	maps, err := os.Open(filepath.Join(proc, "maps"))
	if err != nil {
		return nil, fmt.Errorf("imagemap: process %d: %w", pid, err)
	}
	defer func() { _ = maps.Close() }()
	root := filepath.Join(proc, "root")
	s := Source{
		Maps:   maps,
		Memory: memory,
		Open:   func(path string) (*File, error) { return openFile(root + path) },
		OpenMapped: func(m Mapping) (*File, error) {
			return openFile(fmt.Sprintf("%s/map_files/%x-%x", proc, m.Start, m.End))
		},
		Platform: platform(root),
	}
	m, err := s.Capture()
	if err != nil {
		err = fmt.Errorf("process %d: %w", pid, err)
	}
	return m, err
}

// openFile opens a regular file. A fifo or device must not be opened: that can
// block, or do things.
func openFile(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: fmt.Errorf("is not a regular file but %v", info.Mode().Type())}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	stat := info.Sys().(*syscall.Stat_t)
	return &File{ReaderAt: f, Closer: f, Dev: splitDevice(stat.Dev), Inode: stat.Ino}, nil
}

// splitDevice takes apart a device number as the C library packs it (makedev(3)).
func splitDevice(dev uint64) Device {
	return Device{
		Major: uint32(dev>>8&0xfff | dev>>32&^0xfff),
		Minor: uint32(dev&0xff | dev>>12&^0xff),
	}
}

// platform is "Linux (NAME)", the name from os-release(5) as the process sees it,
// as Swift writes it.
func platform(root string) string {
	for _, path := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		f, err := os.Open(root + path)
		if err != nil {
			continue
		}
		name := prettyName(f)
		_ = f.Close()
		if name != "" {
			return "Linux (" + name + ")"
		}
	}
	return "Linux"
}

// prettyName finds PRETTY_NAME in the text of os-release.
func prettyName(r io.Reader) string {
	s := bufio.NewScanner(io.LimitReader(r, 1<<16))
	for s.Scan() {
		value, ok := strings.CutPrefix(s.Text(), "PRETTY_NAME=")
		if !ok {
			continue
		}
		value = strings.Trim(value, `"'`)
		// The field of the format holds 255 bytes of UTF-8.
		if len(value) <= maxPlatform-len("Linux ()") && utf8.ValidString(value) {
			return value
		}
	}
	return ""
}
