package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// write puts a file into the release.
func (r *release) write(name string, data []byte) error {
	r.files = append(r.files, name)
	fmt.Printf("  %-40s %8.1f MB\n", name, float64(len(data))/1e6)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// archive writes NAME.tar.gz, in which everything lies in the folder NAME.
func (r *release) archive(name string, content []file) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	content = slices.SortedFunc(slices.Values(content), func(a, b file) int { return strings.Compare(a.name, b.name) })
	for _, f := range content {
		h := &tar.Header{Name: name + "/" + f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: r.at, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return r.write(name+".tar.gz", b.Bytes())
}

// compress returns a manual page as packages have them.
func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// checksum returns a released file's SHA-256, in hexadecimal.
func (r *release) checksum(name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(r.out, name))
	return fmt.Sprintf("%x", sha256.Sum256(data)), err
}

// checksums writes checksums.txt, for sha256sum -c.
func (r *release) checksums() error {
	var b bytes.Buffer
	for _, name := range r.files {
		sum, err := r.checksum(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	return r.write("checksums.txt", b.Bytes())
}
