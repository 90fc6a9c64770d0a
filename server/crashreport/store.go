package crashreport

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clewdbg/clew/internal/crashguard"
	"github.com/clewdbg/clew/internal/printable"
)

// ErrTooMany says that a program crashes again and again.
var ErrTooMany = errors.New("too many reports were written in the last minute")

// stamp is how names of reports have the time, so that their order is that of the crashes. ending tells them from other folders.
const (
	stamp   = "20060102-150405.000"
	ending  = ".crash"
	pending = ".writing" // behind the ending, while it is written
)

// Write puts a report into its folder: whole, or not at all. It returns the report's path.
func Write(o *crashguard.Options, program string, files map[string][]byte) (path string, err error) {
	root, err := openStore(o.Dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	now := time.Now().UTC()
	if err := makeRoom(root, o, now); err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-%s-%d%s", now.Format(stamp), plainName(program), o.Pid, ending)
	temp := "." + name + pending
	if err := root.Mkdir(temp, 0o700); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = root.RemoveAll(temp)
		}
	}()
	for file, data := range files {
		f, err := root.OpenFile(filepath.Join(temp, file), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		_, err = f.Write(data)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	if err := root.Rename(temp, name); err != nil {
		return "", err
	}
	return filepath.Join(o.Dir, name), nil
}

// LogFile is where a folder for reports has the reasons for reports that are not there.
const LogFile = "monitor.log"

// maxLog bounds it, in bytes.
const maxLog = 64 << 10

// Note writes a line there. What cannot be written is not said anywhere: the program's own files are not touched.
func Note(dir, line string) {
	root, err := openStore(dir)
	if err != nil {
		return
	}
	defer root.Close()
	if info, err := root.Lstat(LogFile); err == nil && (info.Size() > maxLog || !info.Mode().IsRegular()) {
		_ = root.Remove(LogFile)
	}
	f, err := root.OpenFile(LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(f, "%s %s\n", time.Now().UTC().Format(time.RFC3339), printable.Line(line))
	_ = f.Close()
}

// openStore opens a folder for reports. It has to be the user's own, or root's, and nobody else may write to it: in another's folder
// a link could lead anywhere.
func openStore(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err == nil {
		err = ownFolder(dir, info)
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// plainName leaves of a program's name what is good in names of files.
func plainName(program string) string {
	s := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, program)
	return s[:min(len(s), 64)]
}

// makeRoom removes what is too old or too much, and what was left by writers that were killed; and it is an error where too many were
// written in the last minute.
func makeRoom(root *os.Root, o *crashguard.Options, now time.Time) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	var reports []string
	lately := 0
	for _, e := range entries {
		name := e.Name()
		unfinished := strings.HasSuffix(name, pending)
		when, ok := written(strings.TrimSuffix(strings.TrimPrefix(name, "."), pending))
		switch {
		case !e.IsDir() || !ok:
		case unfinished:
			if now.Sub(when) > crashguard.MaxWork+crashguard.MaxHold {
				_ = root.RemoveAll(name)
			}
		default:
			reports = append(reports, name)
			if age := now.Sub(when); age >= 0 && age < time.Minute {
				lately++
			}
		}
	}
	if o.PerMin > 0 && lately >= o.PerMin {
		return ErrTooMany
	}
	slices.Sort(reports)
	for i, name := range reports {
		when, _ := written(name)
		if o.Keep > 0 && len(reports)-i >= o.Keep || o.Age > 0 && now.Sub(when) > o.Age {
			_ = root.RemoveAll(name) // another writer may have
		}
	}
	return nil
}

// written is when a report was written, by its name.
func written(name string) (time.Time, bool) {
	if len(name) <= len(stamp) || !strings.HasSuffix(name, ending) {
		return time.Time{}, false
	}
	when, err := time.Parse(stamp, name[:len(stamp)])
	return when, err == nil
}

// List returns the paths of the reports in a folder, the newest first.
func List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if _, ok := written(e.Name()); ok && e.IsDir() {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out, nil
}

// Read reads a report: a folder, or its report.json.
func Read(path string) (*Report, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, JSONFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, errors.Join(err, fmt.Errorf("%s: no report is a file like that", path))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	r, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
