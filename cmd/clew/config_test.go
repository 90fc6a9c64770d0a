package main

import (
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/pluginhost"
)

// digits are a checksum's.
var digits = strings.Repeat("0", 64)

func TestParseConfig(t *testing.T) {
	c, err := parseConfig([]byte(`{"strategies":["fpwalk","jit"],"walkTimeout":"250ms",
		"debugFolders":["/srv/debug"],"maxMessage":"1MiB","fileLimits":{"perByte":64},
		"plugins":[{"name":"jit","path":"/opt/jit","sha256":"` + digits + `","args":["-v"],"rank":2}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if time.Duration(c.WalkTimeout) != 250*time.Millisecond || c.Plugins[0].Args[0] != "-v" || c.DebugFolders[0] != "/srv/debug" || c.MaxMessage != 1<<20 || c.FileLimits.PerByte != 64 {
		t.Errorf("%+v", c)
	}
	for text, want := range map[string]string{
		`{"strategy":["fpwalk"]}`:                                          `"strategy"`,
		`{"plugins":[{"name":"x","path":"/x","sha":"00"}]}`:                `"sha"`,
		`{"plugins":[{"name":"fpwalk","path":"/x"}]}`:                      "plugins[0].name: \"fpwalk\" is the name of a built-in",
		`{"plugins":[{"name":"x"}]}`:                                       "no path",
		`{"plugins":[{"name":"x","path":"/x","rank":-1}]}`:                 "negative",
		`{"plugins":[{"name":"x","path":"x","sha256":"` + digits + `"}]}`:  "plugins[0].path",
		`{"plugins":[{"name":"x","path":"/x"}]}`:                           "plugins[0].sha256",
		`{"plugins":[{"name":"X","path":"/x","sha256":"` + digits + `"}]}`: "plugins[0].name",
		`{"plugins":[{"name":"x","path":"/x","sha256":"` + digits + `"},{"name":"x","path":"/x","sha256":"` + digits + `"}]}`: "plugins[1].name",
		`{"walkTimeout":"soon"}`:                  "duration",
		`{"walkTimeout":"0s"}`:                    "duration",
		`{"maxMessage":"1 MB"}`:                   "maxMessage: ",
		`{"maxMessage":65535}`:                    "maxMessage: ",
		`{"maxMessage":"2GiB"}`:                   "maxMessage: ",
		`{"maxMessage":-1}`:                       "maxMessage: ",
		`{"maxMessage":"9999999999999999999GiB"}`: "maxMessage: ",
		`{"fileLimits":{"perBytes":1}}`:           "perBytes",
		`{"debugFolders":["here"]}`:               "absolute",
		`{} {}`:                                   "after the end",
		`{`:                                       "it ends before",
		``:                                        "it ends before",
		`[]`:                                      "all of it: want an object, not a list",
		`{"walkTimeout":"1s","WalkTimeout":"2s"}`: `"WalkTimeout" is there twice`,
		`{"fileLimits":{"perByte":-1}}`:           "fileLimits.perByte: want a whole number from 0 on, not -1",
		`text`:                                    "not JSON, at byte 2: ",
		`{"walkTimeout":5}`:                       `walkTimeout: want text like "250ms", not a number`,
		`{"fileLimits":{"perByte":"x"}}`:          "fileLimits.perByte: want a whole number from 0 on, not text",
		`{"fileLimits":3}`:                        "fileLimits: want an object, not a number",
		`{"strategies":"fpwalk"}`:                 "strategies: want a list, not text",
		`{"strategies":[1]}`:                      "want text, not a number",
		`{"stepThroughGlue":"no"}`:                "want true or false",
	} {
		if _, err := parseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]size{`65536`: 1 << 16, `"65536"`: 1 << 16, `"64KiB"`: 1 << 16, `"256 MiB"`: 256 << 20, `"1GiB"`: 1 << 30} {
		if c, err := parseConfig([]byte(`{"maxMessage":` + text + `}`)); err != nil || c.MaxMessage != want {
			t.Errorf("%s: %d, %v", text, c.MaxMessage, err)
		}
	}
}

func TestRankedStrategies(t *testing.T) {
	c := config{Plugins: []pluginhost.Config{{Name: "last", Path: "/l", Rank: 99}, {Name: "second", Path: "/s", Rank: 2}, {Name: "first", Path: "/f"}}}
	for name, tc := range map[string]struct {
		config []string
		list   []string
		want   string
	}{
		"all, by rank":                     {nil, nil, "first dwarfcfi second sframe compactunwind fpwalk scan last"},
		"the configuration's order":        {[]string{"fpwalk", "last"}, nil, "first fpwalk second last"},
		"the command line's and no others": {[]string{"dwarfcfi"}, []string{"second", "fpwalk"}, "second fpwalk"},
	} {
		t.Run(name, func(t *testing.T) {
			c.Strategies = tc.config
			got, err := c.ranked(tc.list)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for i, p := range got {
				names = append(names, p.Name)
				if p.Rank != i {
					t.Errorf("%s has rank %d at place %d", p.Name, p.Rank, i)
				}
			}
			if s := strings.Join(names, " "); s != tc.want {
				t.Errorf("%s, want %s", s, tc.want)
			}
		})
	}
	builtin := strings.Join(builtinNames()[1:], " ")
	session := pluginhost.Config{Name: "session", Path: "/own", Rank: 2}
	c.Strategies = nil
	for name, tc := range map[string]struct {
		session debuggee.StrategyConfig
		want    string
	}{
		"nothing":              {debuggee.StrategyConfig{}, "first dwarfcfi second " + builtin + " last"},
		"a plugin":             {debuggee.StrategyConfig{Plugins: []pluginhost.Config{session}}, "first session dwarfcfi second " + builtin + " last"},
		"a list":               {debuggee.StrategyConfig{Names: []string{"scan", "last"}}, "scan last"},
		"both":                 {debuggee.StrategyConfig{Names: []string{"scan", "last"}, Plugins: []pluginhost.Config{session}}, "scan session last"},
		"both, named":          {debuggee.StrategyConfig{Names: []string{"session", "scan"}, Plugins: []pluginhost.Config{session}}, "session scan"},
		"only these":           {debuggee.StrategyConfig{Names: []string{"scan"}, Plugins: []pluginhost.Config{session}, Only: true}, "scan"},
		"one of the same name": {debuggee.StrategyConfig{Names: []string{"last"}, Plugins: []pluginhost.Config{{Name: "last", Path: "/own"}}}, "last"},
	} {
		got, err := c.rankedFor(tc.session)
		var names []string
		for _, p := range got {
			names = append(names, p.Name)
		}
		if s := strings.Join(names, " "); err != nil || s != tc.want {
			t.Errorf("%s: %s, %v, want %s", name, s, err, tc.want)
		}
	}
	if got, err := c.rankedFor(debuggee.StrategyConfig{Names: []string{"last"}, Plugins: []pluginhost.Config{{Name: "last", Path: "/own"}}}); err != nil || got[0].Path != "/own" {
		t.Errorf("the session's plugin of that name: %+v, %v", got, err)
	}
	for _, list := range [][]string{{"nosuch"}, {"fpwalk", "fpwalk"}} {
		if _, err := c.ranked(list); err == nil {
			t.Errorf("%v was accepted", list)
		}
	}
}
