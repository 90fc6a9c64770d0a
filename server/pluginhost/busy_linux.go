package pluginhost

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// meter reads the processor time of a group of processes, also of those that have ended.
type meter struct {
	group int
	known map[int]member
	lost  uint64 // the time of processes that ended, and whose parent in the group did not wait for them
}

// member is a process of the group. The times are in clock ticks, with those of children that it has waited for.
type member struct {
	parent, group int
	time          uint64
	pages         uint64 // of memory, those that others share too
}

// tick is the unit of times in /proc/PID/stat (USER_HZ).
const tick = time.Second / 100

// read returns the time of the group up to now. What a process that another group's waits for takes after the last look at it
// is not seen.
func (m *meter) read() time.Duration {
	now, sum := m.members(), uint64(0)
	for pid, was := range m.known {
		if _, lives := now[pid]; !lives && now[was.parent].group != m.group {
			m.lost += was.time
		}
	}
	for _, p := range now {
		sum += p.time
	}
	m.known = now
	return time.Duration(sum+m.lost) * tick
}

// members lists the group.
func (m *meter) members() map[int]member {
	out := map[int]member{}
	dir, err := os.Open("/proc")
	if err != nil {
		return out
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what can be read
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		data, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		if p, ok := parseStat(data); ok && p.group == m.group {
			out[pid] = p
		}
	}
	return out
}

// parseStat reads a /proc/PID/stat (proc(5)).
func parseStat(data []byte) (p member, ok bool) {
	end := bytes.LastIndexByte(data, ')') // of the name, which may hold anything
	fields := strings.Fields(string(data[end+1:]))
	const state, parent, group, times, resident = 0, 1, 2, 11, 21 // times: utime, stime, cutime, cstime
	if len(fields) <= resident || fields[state] == "" {
		return p, false
	}
	p.parent, _ = strconv.Atoi(fields[parent])
	p.group, _ = strconv.Atoi(fields[group])
	for _, f := range fields[times : times+4] {
		n, _ := strconv.ParseUint(f, 10, 64)
		p.time += n
	}
	p.pages, _ = strconv.ParseUint(fields[resident], 10, 64)
	return p, true
}

// memory returns how many bytes the group had at the last read, if they were more than most; else, or without a bound, 0. What
// several of its processes share counts once.
func (m *meter) memory(most uint64) uint64 {
	var pages uint64
	for _, p := range m.known {
		pages += p.pages
	}
	if most == 0 || pages*uint64(os.Getpagesize()) <= most { //nolint:gosec // a page has a size
		return 0
	}
	var sum uint64
	for pid := range m.known {
		sum += share(pid)
	}
	if sum <= most {
		return 0
	}
	return sum
}

// share is a process's part of the memory that it has, in bytes: of what N processes share, an Nth.
func share(pid int) uint64 {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup") // nothing if it has ended
	_, rest, _ := strings.Cut(string(data), "\nPss:")
	n := 0
	if fields := strings.Fields(rest); len(fields) > 0 {
		n, _ = strconv.Atoi(fields[0])
	}
	return uint64(max(n, 0)) << 10
}
