package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// initScript is the first process. The first disk is a tar of what to run, the second
// one takes a tar of the results.
const initScript = `#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/ LD_LIBRARY_PATH=/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts /tmp /results
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
ifconfig lo 127.0.0.1 up
for m in virtio virtio_ring virtio_mmio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk; do
	test -e /modules/$m.ko && insmod /modules/$m.ko
done
tar -x -f /dev/vda -C /
ulimit -c unlimited
cd /results
(sh /job 2>&1; echo $? >/status) | tee /output
cp /output /status /results
tar -c -f /dev/vdb -C /results .
sync
poweroff -f
`

// modules are those of the kernel that the disks need.
var modules = []string{"virtio", "virtio_ring", "virtio_mmio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_blk"}

// writeInitrd writes the file system that the kernel starts with, from the unpacked
// packages in root.
func writeInitrd(name, root string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := &cpio{Writer: bufio.NewWriter(f)}
	err = w.system(root)
	return errors.Join(err, w.Flush(), f.Close())
}

// system writes all that the machine has.
func (w *cpio) system(root string) error {
	for _, dir := range []string{"dev", "proc", "sys", "tmp", "results", "modules", "root"} {
		if err := w.entry(dir, fs.ModeDir|0o755, nil); err != nil {
			return err
		}
	}
	if err := w.entry("init", 0o755, []byte(initScript)); err != nil {
		return err
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		module := strings.TrimSuffix(filepath.Base(name), ".ko")
		switch {
		case module != filepath.Base(name):
			if !slices.Contains(modules, module) {
				return nil
			}
			name = "modules/" + module + ".ko"
		case d.IsDir() && (name == "usr/share" || name == "boot" || strings.HasSuffix(name, "/gconv")):
			return filepath.SkipDir
		case name == ".":
			return nil
		}
		return w.file(name, path)
	})
	if err != nil {
		return err
	}
	return w.entry("TRAILER!!!", 0, nil)
}

// cpio writes the format that the kernel reads ("newc", cpio(5)).
type cpio struct {
	*bufio.Writer
	inode, at int
}

// file writes what path is: a file, a folder or a link.
func (w *cpio) file(name, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	var data []byte
	switch info.Mode().Type() {
	case fs.ModeSymlink:
		var to string
		to, err = os.Readlink(path)
		data = []byte(to)
	case 0:
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return err
	}
	return w.entry(name, info.Mode(), data)
}

func (w *cpio) entry(name string, mode fs.FileMode, data []byte) error {
	kind := map[fs.FileMode]int{0: 0o100000, fs.ModeDir: 0o040000, fs.ModeSymlink: 0o120000}[mode.Type()]
	w.inode++
	w.print("070701")
	for _, field := range []int{w.inode, kind | int(mode.Perm()), 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0} {
		w.print(fmt.Sprintf("%08x", field))
	}
	w.print(name + "\x00")
	w.pad()
	w.print(string(data))
	w.pad()
	_, err := w.Write(nil) // an earlier error stays
	return err
}

func (w *cpio) print(s string) {
	n, _ := io.WriteString(w, s) // entry reports the error
	w.at += n
}

func (w *cpio) pad() { w.print("\x00\x00\x00"[:-w.at&3]) }
