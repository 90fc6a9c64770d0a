package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/clewdbg/clew/cbf"
)

// sample makes n frames as a Go+C program has them: return addresses in a few
// images, some recursion.
func sample(n int) (frames []cbf.Frame) {
	rng := rand.New(rand.NewPCG(1, 2))
	images := []uint64{0x55c1d50fa000, 0x7f8a9c400000, 0x7f8a9ec23000}
	for len(frames) < n {
		f := cbf.Frame{Kind: cbf.RA, Address: images[rng.IntN(len(images))] + rng.Uint64N(1<<20)}
		for range 1 + max(0, rng.IntN(12)-8) {
			frames = append(frames, f)
		}
	}
	return frames[:n]
}

// codec measures the Compact Backtrace Format beside bare words and JSON.
func codec(t *table) error {
	t.title = "Compact Backtrace Format, encode and decode"
	t.notes = []string{"Random return addresses in three images, a third of them repeated. Peers: bare 64-bit words\n" +
		"(encoding/binary), a JSON array of hexadecimal addresses (encoding/json). Buffers are reused."}
	t.header = []string{"frames", "what", "CBF ns/frame", "CBF bytes/frame", "CBF allocations", "against JSON", "JSON bytes/frame", "against words", "words bytes/frame"}
	for _, n := range []int{50, 10_000} {
		frames := sample(n)
		addrs, hex := make([]uint64, n), make([]string, n)
		for i, f := range frames {
			addrs[i], hex[i] = f.Address, fmt.Sprintf("0x%x", f.Address)
		}
		buf := make([]byte, 0, 32*n)
		var asCBF, asJSON, asWords []byte
		encode, err := compare(t.rounds,
			contender{name: "cbf", run: func() (err error) {
				asCBF, err = cbf.AppendFrames(buf[:0], cbf.Word64, frames, cbf.EndMark, cbf.EncodeOptions{})
				return err
			}},
			contender{name: "json", run: func() (err error) { asJSON, err = json.Marshal(hex); return err }},
			contender{name: "words", run: func() error {
				asWords = buf[:0:cap(buf)]
				for _, a := range addrs {
					asWords = binary.LittleEndian.AppendUint64(asWords, a)
				}
				return nil
			}},
		)
		if err != nil {
			return err
		}
		if asCBF, err = cbf.AppendFrames(nil, cbf.Word64, frames, cbf.EndMark, cbf.EncodeOptions{}); err != nil {
			return err
		}
		sink := uint64(0)
		decode, err := compare(t.rounds,
			contender{name: "cbf", run: func() error {
				d, got := cbf.NewDecoder(asCBF, cbf.DecodeOptions{}), 0
				for d.Next() {
					got++
				}
				if got != n || d.Err() != nil {
					return fmt.Errorf("%d frames of %d: %w", got, n, d.Err())
				}
				return nil
			}},
			contender{name: "json", run: func() error { return json.Unmarshal(asJSON, &hex) }},
			contender{name: "words", run: func() error {
				for i := 0; i < len(asWords); i += 8 {
					sink += binary.LittleEndian.Uint64(asWords[i:])
				}
				return nil
			}},
		)
		if err != nil {
			return err
		}
		per := func(b []byte) string { return fmt.Sprintf("%.2f", float64(len(b))/float64(n)) }
		for what, r := range [2][]result{encode, decode} {
			t.row(fmt.Sprint(n), [2]string{"encode", "decode"}[what], r[0].per(n), per(asCBF), r[0].objects(),
				r[0].to(r[1]), per(asJSON), r[0].to(r[2]), per(asWords))
		}
	}
	return nil
}
