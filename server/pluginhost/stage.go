package pluginhost

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/clewdbg/clew/internal/elffile"
)

// maxExecutable bounds the size of a copy, in bytes.
const maxExecutable = 1 << 30

// stage copies a third party's executable into the session folder while it
// computes its checksum. The bytes that were checked are the ones that run: the file at path may
// change at any time (go-plugin's SecureConfig checks a path and then runs it).
func stage(dir string, c *Config) (copied string, err error) {
	in, info, err := elffile.OpenRegular(c.Path)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	if info.Size() > maxExecutable {
		return "", fmt.Errorf("%s has %d bytes (at most %d)", c.Path, info.Size(), maxExecutable)
	}
	path := filepath.Join(dir, "exe-"+c.Name)
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, hash), io.LimitReader(in, maxExecutable))
	if err = errors.Join(err, out.Close()); err != nil {
		return "", err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); !strings.EqualFold(got, c.SHA256) {
		return "", &ChecksumError{Path: c.Path, Want: strings.ToLower(c.SHA256), Got: got}
	}
	return path, nil
}
