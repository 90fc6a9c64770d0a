package real

import (
	"flag"
	"fmt"
	"os"
)

// packages are npm packages with Mach-O files, by version. What each is for is
// in README.md of plugins/compactunwind.
var packages = []string{
	"fsevents@2.3.3",
	"@msgpackr-extract/msgpackr-extract-darwin-x64@3.0.3",
	"@msgpackr-extract/msgpackr-extract-darwin-arm64@3.0.3",
	"@parcel/watcher-darwin-x64@2.5.1",
	"@parcel/watcher-darwin-arm64@2.5.1",
	"@img/sharp-darwin-x64@0.33.5",
	"@img/sharp-darwin-arm64@0.33.5",
	"@node-rs/crc32-darwin-x64@1.10.6",
	"@rollup/rollup-darwin-arm64@4.34.8",
	"lightningcss-darwin-x64@1.29.1",
}

// Main runs it as a program: its arguments are those of the process.
func Main() {
	keep := flag.String("keep", "", "keep the packages in this directory, and take them from there")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ok, err := report(*keep)
	if err != nil {
		fmt.Fprintln(os.Stderr, "real:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func report(dir string) (ok bool, err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "clew-real-"); err != nil {
			return false, err
		}
		defer os.RemoveAll(dir)
	}
	fmt.Println("| package | image | pages (regular) | entries | LSDA | modes | differences | refused | calls | as simulated | otherwise | not simulated |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|")
	ok = true
	entries, differences := 0, 0
	for _, p := range packages {
		files, err := fetch(dir, p)
		if err != nil {
			return false, err
		}
		for _, f := range files {
			images, err := slices(f)
			if err != nil {
				return false, fmt.Errorf("%s: %s: %w", p, f.name, err)
			}
			for i := range images {
				r, err := images[i].check(dir)
				if err != nil {
					return false, fmt.Errorf("%s: %s: %w", p, f.name, err)
				}
				fmt.Printf("| %s | %s, %s | %s |\n", p, f.name, images[i].arch, r)
				for _, problem := range r.problems {
					fmt.Fprintf(os.Stderr, "%s: %s, %s: %s\n", p, f.name, images[i].arch, problem)
				}
				entries, differences = entries+r.entries, differences+r.differences
			}
		}
	}
	fmt.Printf("\n%d entries, %d differences\n", entries, differences)
	return ok && entries > 0 && differences == 0, nil
}
