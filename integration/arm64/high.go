package main

import (
	"context"
	"path/filepath"
)

// buildHigh builds clew and the program.
func buildHigh(ctx context.Context, folder string) error {
	if _, err := buildProgram(ctx, folder, "high", "CGO_CFLAGS=-O2 -g0 -mbranch-protection=standard -fomit-frame-pointer"); err != nil {
		return err
	}
	return goBuild(ctx, filepath.Join(folder, "clew"), "./cmd/clew")
}

// runHigh demands the whole stack of a thread that lies above 48 bits, with every return address that the program has
// recorded, live and in the core file. Where the kernel or the processor has no such addresses the case fails.
func runHigh() string {
	return `bad=0
limit=` + minute() + `
check() { if eval "$2"; then echo "$1: right"; else echo "$1: WRONG"; cat $3; bad=1; fi; }
built=$1
timeout $limit "$built"/clew stack --format json -- "$built"/high record >live.json 2>live.err </dev/null
rm -f core*; GOTRACEBACK=crash "$built"/high record.crash >crash.txt 2>&1
test $? = 9 && { cat crash.txt; exit 1; }
timeout $limit "$built"/clew stack --format json --core core* "$built"/high >core.json 2>core.err </dev/null
for kind in live core; do
	case $kind in live) record=record ;; core) record=record.crash ;; esac
	check "$kind, four return addresses" "test $(wc -l <$record) = 4" $record
	while read address; do
		check "$kind, $address" "grep -q '\"pc\": *\"$address\"' $kind.json" "$kind.json $kind.err"
	done <$record
	check "$kind, a return address above 48 bits" "grep -q '\"pc\": *\"0x500000000....\"' $kind.json" "$kind.json $kind.err"
	check "$kind, a stack above 48 bits" "grep -q '\"cfa\": *\"0xa0000000.....\"' $kind.json" "$kind.json $kind.err"
done
check "live, the end" "grep -q '\"stop\": *\"end\"' live.json && ! grep -q '\"stop\": *\"truncated\"' live.json" "live.json live.err"
check "core, all ends" "grep -q '\"stop\": *\"end\"' core.json && ! grep -q '\"stop\": *\"truncated\"' core.json" "core.json core.err"
rm -f core core.[0-9]*
exit $bad`
}
