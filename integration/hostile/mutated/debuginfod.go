package mutated

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// answer is how a debuginfod server answers.
type answer func(w http.ResponseWriter, r *http.Request, file []byte)

// behaviours are those of servers, by the names of their inputs.
var behaviours = map[string]answer{
	"file": func(w http.ResponseWriter, _ *http.Request, file []byte) { _, _ = w.Write(file) },
	"truncated": func(w http.ResponseWriter, _ *http.Request, file []byte) {
		w.Header().Set("Content-Length", fmt.Sprint(len(file)))
		_, _ = w.Write(file[:len(file)/2])
	},
	"endless": func(w http.ResponseWriter, r *http.Request, file []byte) { endless(w, r, file) },
	"slow": func(w http.ResponseWriter, r *http.Request, file []byte) {
		for i := 0; i < len(file) && r.Context().Err() == nil; i++ {
			_, _ = w.Write(file[i : i+1])
			w.(http.Flusher).Flush()
			time.Sleep(50 * time.Millisecond)
		}
	},
	"compressed": func(w http.ResponseWriter, r *http.Request, file []byte) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer func() { _ = z.Close() }()
		endless(z, r, file)
	},
	"huge": func(w http.ResponseWriter, r *http.Request, file []byte) {
		w.Header().Set("Content-Length", fmt.Sprint(uint64(1)<<62))
		endless(w, r, file)
	},
	"size": func(w http.ResponseWriter, _ *http.Request, file []byte) {
		w.Header().Set("X-DEBUGINFOD-SIZE", "1")
		_, _ = w.Write(file)
	},
	"circle": func(w http.ResponseWriter, r *http.Request, _ []byte) {
		http.Redirect(w, r, r.URL.Path+"/"+strings.Repeat("x", len(r.URL.Path)%100), http.StatusMovedPermanently)
	},
	"device": func(w http.ResponseWriter, r *http.Request, _ []byte) {
		http.Redirect(w, r, "file:///dev/zero", http.StatusFound)
	},
	"not here": func(w http.ResponseWriter, r *http.Request, file []byte) {
		w.WriteHeader(http.StatusNotFound)
		endless(w, r, file)
	},
	"fails": func(w http.ResponseWriter, r *http.Request, file []byte) {
		w.WriteHeader(http.StatusBadGateway)
		endless(w, r, file)
	},
	"response": func(w http.ResponseWriter, _ *http.Request, response []byte) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = conn.Write(response)
	},
}

// endless writes a file and then zeros, as long as they are taken.
func endless(w io.Writer, r *http.Request, file []byte) {
	_, err := w.Write(file)
	for zeros := make([]byte, 1<<16); err == nil && r.Context().Err() == nil; {
		_, err = w.Write(zeros)
	}
}

// servers are the commands that ask debuginfod.
type servers struct{ *prepared }

// served are the files that servers have, one for each behaviour, and of another build.
func (p servers) served() (list []input) {
	file := p.debug[0]
	for _, name := range slices.Sorted(maps.Keys(behaviours)) {
		in := input{name: name, data: file.data, areas: file.areas}
		if name == "response" {
			in = newInput(name, fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nX-DEBUGINFOD-SIZE: %d\r\n"+
				"X-DEBUGINFOD-FILE: /x\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(file.data), len(file.data), file.data))
		}
		list = append(list, in)
	}
	tables := file.byMeaning()
	tables.name = "file"
	other := p.executable[0]
	other.name = "file"
	return append(list, tables, other)
}

// ask runs a command that asks a server with the damaged file.
func (p servers) ask(command func(folder string, env []string) outcome, more ...string) func(string, input, []byte) outcome {
	return func(folder string, in input, damaged []byte) outcome {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { behaviours[in.name](w, r, damaged) }))
		defer s.Close()
		defer s.CloseClientConnections()
		env := append(os.Environ(), "DEBUGINFOD_URLS="+s.URL, "DEBUGINFOD_CACHE_PATH="+filepath.Join(folder, "cache"), "DEBUGINFOD_TIMEOUT=1",
			"DEBUGINFOD_MAXTIME=5", fmt.Sprint("DEBUGINFOD_MAXSIZE=", 64<<20))
		return command(folder, append(env, more...))
	}
}

// decode asks for the debug files of all images of a document.
func (p servers) decode(_ string, env []string) outcome {
	return run(nil, env, "decode", "--symbols", "debuginfod", p.document)
}

// stack starts the program with a library without debug sections: Delve asks too.
func (p servers) stack(folder string, env []string) outcome {
	s := scene{p.path, "", filepath.Join(folder, "libnative.so"), "/"}
	if err := os.WriteFile(s.library, p.stripped, 0o755); err != nil {
		return outcome{failure: err.Error()}
	}
	return run(nil, append(env, "NATIVE_LIBRARY="+s.library), s.stackArguments(p.stem, "--break", "main.inGo")...)
}

// kinds are kinds whose damaged input is a server's answer.
func (p servers) kinds() []kind {
	list := []kind{
		{"`decode`, debuginfod", p.served(), p.ask(p.decode, "PATH=")},
		{"`stack --break`, debuginfod", p.served(), p.ask(p.stack)},
	}
	if _, err := exec.LookPath("debuginfod-find"); err == nil {
		list = append(list, kind{"`decode`, elfutils' debuginfod", p.served(), p.ask(p.decode)})
	}
	return list
}
