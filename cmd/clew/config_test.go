package main

import (
	"strings"
	"testing"
	"time"
)

func TestParseConfig(t *testing.T) {
	c, err := parseConfig([]byte(`{"strategies":["fpwalk","jit"],"walkTimeout":"250ms",
		"debugFolders":["/srv/debug"],
		"plugins":[{"name":"jit","path":"/opt/jit","sha256":"00","args":["-v"],"rank":2}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if time.Duration(c.WalkTimeout) != 250*time.Millisecond || c.Plugins[0].Args[0] != "-v" || c.DebugFolders[0] != "/srv/debug" {
		t.Errorf("%+v", c)
	}
	for text, want := range map[string]string{
		`{"strategy":["fpwalk"]}`:                           `"strategy"`,
		`{"plugins":[{"name":"x","path":"/x","sha":"00"}]}`: `"sha"`,
		`{"plugins":[{"name":"fpwalk","path":"/x"}]}`:       "built-in",
		`{"plugins":[{"name":"x"}]}`:                        "no path",
		`{"plugins":[{"name":"x","path":"/x","rank":-1}]}`:  "negative",
		`{"walkTimeout":"soon"}`:                            "duration",
		`{"walkTimeout":"0s"}`:                              "duration",
		`{"debugFolders":["here"]}`:                         "absolute",
		`{} {}`:                                             "after the end",
		`{`:                                                 "EOF",
	} {
		if _, err := parseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
}

func TestRankedStrategies(t *testing.T) {
	c := config{Plugins: []pluginConfig{{Name: "last", Path: "/l", Rank: 99}, {Name: "second", Path: "/s", Rank: 2}, {Name: "first", Path: "/f"}}}
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
	for _, list := range [][]string{{"nosuch"}, {"fpwalk", "fpwalk"}} {
		if _, err := c.ranked(list); err == nil {
			t.Errorf("%v was accepted", list)
		}
	}
}
