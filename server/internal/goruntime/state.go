package goruntime

import (
	"fmt"
	"slices"
	"time"
)

// State is what the runtime notes of a goroutine, with addresses that are not read
// yet.
type State struct {
	Status       uint32
	WaitReason   uint8
	LockedThread uint64 // the thread that is reserved for it, 0 for none
	GoPC         uint64 // return address of the go statement's call
	Parent       uint64 // ID of the goroutine that executed it
	since        int64  // see [Notes.WaitSince]
	labels       uint64
	waiting      uint64 // runtime.sudog
	channel      uint64 // that the sudog names, 0 if it was not read
	ancestors    uint64 // a slice of runtime.ancestorInfo
}

// statuses are the words of the runtime's traces (runtime/traceback.go, gStatusStrings).
var statuses = map[uint32]string{
	0: "idle", 1: "runnable", 2: "running", statusSyscall: "syscall", statusWaiting: "waiting", statusDead: "dead", 8: "copystack", 9: "preempted", 10: "leaked",
}

const (
	statusWaiting = 4
	statusLeaked  = 10 // it waits, and the runtime has found that nothing can wake it
)

// StatusName is the status in the words of the runtime's traces.
func (s *State) StatusName() string {
	if name, ok := statuses[s.Status]; ok {
		return name
	}
	return fmt.Sprintf("status %d", s.Status)
}

// Waits says whether the goroutine waits: the other states keep an old reason.
func (s *State) Waits() bool { return s.Status == statusWaiting || s.Status == statusLeaked }

// state reads what is in a runtime.g; word reads its fields.
func (l *Layout) state(status uint32, word func(int64) uint64) State {
	return State{
		Status: status, WaitReason: uint8(word(l.gWaitReason)), since: int64(word(l.gWaitSince)),
		GoPC: word(l.gGoPC), Parent: word(l.gParent), labels: word(l.gLabels), waiting: word(l.gWaiting), ancestors: word(l.gAncestors),
	}
}

// Notes reads what states refer to, each address once. It is valid for one stop.
type Notes struct {
	runtime *Runtime
	address func(name string) (uint64, error)
	reasons uint64 // runtime.waitReasonStrings
	names   map[uint8]string
	labels  map[uint64]map[string]string
	// collections are the ends of the last garbage collections, in nanoseconds since 1970.
	// unix and nano are the end of the last one, by both clocks of the runtime.
	collections []int64
	unix, nano  int64
	// others are the times that goroutines note, by the runtime's own clock, which clock
	// converts; see [Notes.Compare].
	others []int64
	clock  func(nano int64) time.Time
}

// Notes returns a reader; address finds a variable.
func (r *Runtime) Notes(address func(name string) (uint64, error)) *Notes {
	if r.Layout == nil {
		return nil
	}
	n := &Notes{runtime: r, address: address, names: make(map[uint8]string), labels: make(map[uint64]map[string]string)}
	n.reasons, _ = address("runtime.waitReasonStrings")
	if stats, err := address("runtime.memstats"); err == nil {
		n.readCollections(stats)
	}
	return n
}

// readCollections reads when the runtime has collected garbage (runtime/mstats.go).
func (n *Notes) readCollections(stats uint64) {
	l := n.runtime.Layout
	if l.pauseEnd < 0 || l.lastUnix < 0 || l.lastNano < 0 {
		return
	}
	n.unix, n.nano = int64(n.runtime.ReadPointer(stats, l.lastUnix)), int64(n.runtime.ReadPointer(stats, l.lastNano))
	var ends [256 * 8]byte // of the last collections
	if n.runtime.Memory.ReadMemory(stats+uint64(l.pauseEnd), ends[:]) != nil {
		return
	}
	for at := 0; at < len(ends); at += 8 {
		if end := int64(n.runtime.Arch.ByteOrder().Uint64(ends[at:])); end > 0 {
			n.collections = append(n.collections, end)
		}
	}
	slices.Sort(n.collections)
}

// Compare lets [Notes.WaitSince] compare goroutines with each other. clock converts a time
// of the runtime's own clock.
func (n *Notes) Compare(all *Goroutines, clock func(nano int64) time.Time) {
	n.others, n.clock = nil, clock
	for i := range all.list {
		if since := all.list[i].state.since; since > 0 {
			n.others = append(n.others, since)
		}
	}
	slices.Sort(n.others)
	n.others = slices.Compact(n.others)
}

// WaitSince is a time at which a goroutine has certainly waited already, zero if no such
// time is known.
//
// A collection that finds a goroutine waiting notes the time at which the collection
// *before* ended its marking (runtime/mgcmark.go, markroot; mgc.go, gcMark). Then the
// goroutine may have been running. So the time is the end of the collection that
// follows the noted one. Test: TestWaitSince.
//
// Where collections are not known, it is what another goroutine notes, if that is later: the
// end of a collection after the one that found this goroutine.
func (n *Notes) WaitSince(s *State) time.Time {
	if s.since <= 0 || !s.Waits() && s.Status != statusSyscall {
		return time.Time{}
	}
	if n.nano == 0 {
		if i, _ := slices.BinarySearch(n.others, s.since+1); i < len(n.others) {
			return n.clock(n.others[i])
		}
		return time.Time{}
	}
	noted := n.unix - (n.nano - s.since)
	i, _ := slices.BinarySearch(n.collections, noted) // the noted collection, or a later one if that is forgotten
	if i+1 >= len(n.collections) {
		return time.Time{} // the one that follows has not ended
	}
	return time.Unix(0, n.collections[i+1])
}

// WaitReason is why a goroutine waits, "" if it does not or that is not known.
func (n *Notes) WaitReason(s *State) string {
	if n.reasons == 0 || n.runtime.Layout.gWaitReason < 0 || !s.Waits() {
		return ""
	}
	name, ok := n.names[s.WaitReason]
	if !ok {
		name, _ = n.runtime.text(n.reasons + 16*uint64(s.WaitReason))
		n.names[s.WaitReason] = name
	}
	return name
}

// WaitsOn is the address of the channel that a goroutine waits on, 0 for none.
func (n *Notes) WaitsOn(s *State) uint64 {
	if !s.Waits() || n.runtime.Layout.sudogC < 0 {
		return 0
	}
	if s.channel != 0 {
		return s.channel
	}
	return n.runtime.ReadPointer(s.waiting, n.runtime.Layout.sudogC)
}

// Labels are those that runtime/pprof has set.
func (n *Notes) Labels(s *State) map[string]string {
	if s.labels == 0 {
		return nil
	}
	out, ok := n.labels[s.labels]
	if !ok {
		if out, ok = n.runtime.labelList(s.labels); !ok {
			out, _ = n.runtime.labelMap(n.runtime.ReadPointer(s.labels, 0))
		}
		n.labels[s.labels] = out
	}
	return out
}

// Ancestor is a goroutine that has started another, with its stack at that time.
type Ancestor struct {
	Goroutine uint64
	PCs       []uint64 // return addresses, innermost first
}

// Bounds on ancestors, which are read from memory that may be corrupt.
const (
	maxAncestors = 256
	maxCallers   = 256 // the runtime keeps 50
)

// Ancestors are those that led to a goroutine, the last one first. The runtime keeps them where
// GODEBUG has tracebackancestors=N (runtime/proc.go, saveAncestors).
func (n *Notes) Ancestors(s *State) (out []Ancestor) {
	r, l := n.runtime, n.runtime.Layout
	if s.ancestors == 0 || l.ancestorSize == 0 || l.ancestorPCs < 0 || l.ancestorGoid < 0 {
		return nil
	}
	list, count := r.ReadPointer(s.ancestors, 0), r.ReadPointer(s.ancestors, 8)
	for i := range min(count, maxAncestors) {
		at := list + i*uint64(l.ancestorSize)
		a := Ancestor{Goroutine: r.ReadPointer(at, l.ancestorGoid)}
		pcs, callers := r.ReadPointer(at, l.ancestorPCs), r.ReadPointer(at, l.ancestorPCs+8)
		for k := range min(callers, maxCallers) {
			if pc := r.ReadPointer(pcs, int64(8*k)); pc != 0 {
				a.PCs = append(a.PCs, pc)
			}
		}
		out = append(out, a)
	}
	return out
}

// Bounds on labels, which are read from memory that may be corrupt.
const (
	maxLabels    = 256
	maxLabelText = 4096
)

// text reads a Go string at addr. ok is false for one that is empty or no string.
func (r *Runtime) text(addr uint64) (s string, ok bool) {
	data, size := r.ReadPointer(addr, 0), r.ReadPointer(addr, 8)
	if data == 0 || size == 0 || size > maxLabelText {
		return "", size == 0
	}
	buf := make([]byte, size)
	if r.Memory.ReadMemory(data, buf) != nil {
		return "", false
	}
	return string(buf), true
}

// labelList reads labels as Go 1.24 and later has them: a slice of keys and values.
func (r *Runtime) labelList(addr uint64) (map[string]string, bool) {
	data, size, most := r.ReadPointer(addr, 0), r.ReadPointer(addr, 8), r.ReadPointer(addr, 16)
	if data == 0 || size == 0 || size > most || size > maxLabels {
		return nil, false
	}
	out := make(map[string]string, size)
	for i := range size {
		key, ok := r.text(data + 32*i)
		value, fine := r.text(data + 32*i + 16)
		if !ok || !fine || key == "" {
			return nil, false
		}
		out[key] = value
	}
	return out, true
}

// labelMap reads labels as Go has them before 1.24: a map whose buckets have eight
// bytes of hashes, eight keys, eight values and the next bucket (runtime/map.go).
func (r *Runtime) labelMap(addr uint64) (map[string]string, bool) {
	const (
		bucketsAt, keys, values, next = 16, 8, 8 + 8*16, 8 + 2*8*16
		bucketSize, empty             = next + 8, 5 // a hash below 5 marks a place without a key
	)
	count, bits := r.ReadPointer(addr, 0), r.ReadPointer(addr, 8)>>8&0xff
	if count == 0 || count > maxLabels || bits > 8 {
		return nil, false
	}
	out := make(map[string]string, count)
	buckets := r.ReadPointer(addr, bucketsAt)
	for b := range uint64(1) << bits {
		for at, n := buckets+b*bucketSize, 0; at != 0 && n < maxLabels; at, n = r.ReadPointer(at, next), n+1 {
			hashes := r.ReadPointer(at, 0)
			for i := range uint64(8) {
				if hashes>>(8*i)&0xff < empty {
					continue
				}
				if key, ok := r.text(at + keys + 16*i); ok {
					out[key], _ = r.text(at + values + 16*i)
				}
			}
		}
	}
	return out, uint64(len(out)) == count
}
