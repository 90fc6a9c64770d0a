package export

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// resourceAttributes are the attributes that the environment gives a resource (OpenTelemetry specification, "Resource SDK", and "Environment
// Variable Specification"), in its order, and service.name: OTEL_SERVICE_NAME, else what OTEL_RESOURCE_ATTRIBUTES has, else the
// executable's name.
func resourceAttributes(pid int, p *profile.Profile) (out [][2]string) {
	service := os.Getenv("OTEL_SERVICE_NAME")
	for pair := range strings.SplitSeq(os.Getenv("OTEL_RESOURCE_ATTRIBUTES"), ",") {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		switch {
		case !ok || err != nil || key == "" || key == "host.arch" || key == "process.pid":
		case key == "service.name":
			service = cmp.Or(service, value)
		default:
			out = append(out, [2]string{key, value})
		}
	}
	if service = cmp.Or(service, executableName(pid, p)); service != "" {
		out = append(out, [2]string{"service.name", service})
	}
	return out
}

// executableName is the name of the program: of the process, or of the first image that stacks lie in.
func executableName(pid int, p *profile.Profile) string {
	if path, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); pid != 0 && err == nil {
		return filepath.Base(strings.TrimSuffix(path, " (deleted)"))
	}
	if len(p.Mapping) > 0 && p.Mapping[0].File != "" {
		return filepath.Base(p.Mapping[0].File)
	}
	return ""
}
