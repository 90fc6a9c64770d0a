package debuginfod

import (
	"bufio"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrNotConfigured says that the user names no server.
var ErrNotConfigured = errors.New("DEBUGINFOD_URLS is not set: no server is asked for debug files")

// What elfutils' client takes where the environment says nothing. It has no bound
// on bytes and total time; these are clew's.
const (
	defaultTimeout = 90 * time.Second
	defaultRetries = 2
	defaultMaxTime = 10 * time.Minute
	defaultMaxSize = 4 << 30
)

// Config says which servers are asked, and how.
type Config struct {
	URLs    []string      // without /buildid
	Cache   string        // the folder of what was received
	Timeout time.Duration // in which a server must send 100 KiB, or all
	MaxTime time.Duration // of one request, over all servers
	MaxSize int64         // of one file, in bytes
	Retries int           // of a server that failed
	Header  http.Header   // sent with every request
	Program string        // elfutils' debuginfod-find; "" for plain HTTP
}

// FromEnvironment reads the variables that elfutils' client reads; getenv is
// [os.Getenv]. Program is left empty. Fails with [ErrNotConfigured].
func FromEnvironment(getenv func(string) string) (Config, error) {
	c := Config{
		URLs:    strings.Fields(getenv("DEBUGINFOD_URLS")),
		Timeout: seconds(getenv("DEBUGINFOD_TIMEOUT"), defaultTimeout),
		MaxTime: seconds(getenv("DEBUGINFOD_MAXTIME"), defaultMaxTime),
		MaxSize: positive(getenv("DEBUGINFOD_MAXSIZE"), defaultMaxSize),
		Retries: int(positive(getenv("DEBUGINFOD_RETRY_LIMIT"), defaultRetries)),
	}
	if len(c.URLs) == 0 {
		return Config{}, ErrNotConfigured
	}
	if path := getenv("DEBUGINFOD_HEADERS_FILE"); path != "" {
		c.Header = readHeaders(path)
	}
	c.Cache = cacheFolder(getenv)
	if c.Cache == "" {
		return Config{}, errors.New("debuginfod has no cache: set DEBUGINFOD_CACHE_PATH or HOME")
	}
	return c, nil
}

// cacheFolder finds the folder that elfutils' client would use.
func cacheFolder(getenv func(string) string) string {
	if path := getenv("DEBUGINFOD_CACHE_PATH"); path != "" {
		return path
	}
	home := getenv("HOME")
	if home != "" {
		old := filepath.Join(home, ".debuginfod_client_cache")
		if info, err := os.Stat(old); err == nil && info.IsDir() {
			return old
		}
	}
	if path := getenv("XDG_CACHE_HOME"); path != "" {
		return filepath.Join(path, "debuginfod_client")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".cache", "debuginfod_client")
}

func positive(text string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && n > 0 {
		return n
	}
	return otherwise
}

func seconds(text string, otherwise time.Duration) time.Duration {
	const most = int64(time.Duration(1<<63-1) / time.Second)
	return time.Duration(min(positive(text, int64(otherwise/time.Second)), most)) * time.Second
}

// readHeaders reads a file of headers, one a line. A line that is no header is
// skipped, as is a file that cannot be read: elfutils' client goes on without.
func readHeaders(path string) http.Header {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	out := make(http.Header)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), ":")
		name = strings.TrimSpace(name)
		if ok && name != "" && !strings.ContainsAny(name, " \t") {
			out.Add(name, strings.TrimSpace(value))
		}
	}
	return out
}
