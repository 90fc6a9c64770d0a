package mutated

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// result is what the runs of a kind took.
type result struct {
	Runs      int           `json:"runs"`
	Refused   int           `json:"refused"` // the command ended with 1 or 2
	Memory    int64         `json:"memory"`  // the most, in bytes
	Processor time.Duration `json:"processor"`
	Longest   time.Duration `json:"longest"`
	Failures  int           `json:"failures"`
}

func (r result) plus(o result) result {
	return result{
		r.Runs + o.Runs, r.Refused + o.Refused, max(r.Memory, o.Memory), r.Processor + o.Processor, max(r.Longest, o.Longest), r.Failures + o.Failures,
	}
}

// result is that of one run.
func (o outcome) result() result {
	r := result{Runs: 1, Memory: o.memory, Processor: o.processor, Longest: o.processor}
	if o.code == 1 || o.code == 2 {
		r.Refused = 1
	}
	if o.failure != "" {
		r.Failures = 1
	}
	return r
}

// totals are those of several runs of this command.
type totals struct {
	path    string
	Commits []string          `json:"commits"` // clew's, in order
	Names   []string          `json:"names"`   // of the kinds, in order
	Kinds   map[string]result `json:"kinds"`
}

// readTotals reads the file of -add; "" and a file that is not there yet have none.
func readTotals(path string) (totals, error) {
	t := totals{path: path}
	if path == "" {
		return t, nil
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t, nil
	case err != nil:
		return t, err
	}
	return t, json.Unmarshal(data, &t)
}

// totals are the earlier ones with what this campaign has counted.
func (c *campaign) totals() totals {
	t := totals{c.before.path, slices.Clone(c.before.Commits), slices.Clone(c.before.Names), map[string]result{}}
	for name, r := range c.before.Kinds {
		t.Kinds[name] = r
	}
	for i, k := range c.kinds {
		if !slices.Contains(t.Names, k.name) {
			t.Names = append(t.Names, k.name)
		}
		t.Kinds[k.name] = t.Kinds[k.name].plus(c.results[i])
	}
	if c.commit != "" && !slices.Contains(t.Commits, c.commit) {
		t.Commits = append(t.Commits, c.commit)
	}
	return t
}

// commit names the tree that is built, "" where that is not known.
func commit() string {
	name, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// saveEvery is how much of a campaign may be lost.
const saveEvery = 2 * time.Minute

// save writes the totals to the file of -add.
func (c *campaign) save() error {
	if c.before.path == "" {
		return nil
	}
	data, err := json.MarshalIndent(c.totals(), "", "\t")
	if err == nil {
		err = errors.Join(os.WriteFile(c.before.path+".new", data, 0o600), os.Rename(c.before.path+".new", c.before.path))
	}
	return err
}

func (t totals) print() {
	fmt.Println("| input to | runs | refused | processor time | most memory | longest, processor time | failures |\n|---|---|---|---|---|---|---|")
	var sum result
	for _, name := range t.Names {
		t.Kinds[name].print(name)
		sum = sum.plus(t.Kinds[name])
	}
	sum.print("all")
	fmt.Println("Commits:", strings.Join(t.Commits, " "))
}

func (r result) print(name string) {
	fmt.Printf("| %s | %d | %d | %s | %d MiB | %.2f s | %d |\n",
		name, r.Runs, r.Refused, r.Processor.Round(time.Second), r.Memory>>20, r.Longest.Seconds(), r.Failures)
}
