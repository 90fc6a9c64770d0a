package main

import (
	"context"
	"path/filepath"
)

// buildFaults builds clew, the program, and one for 32 bits.
func buildFaults(ctx context.Context, folder string) error {
	if _, err := buildProgram(ctx, folder, "faults"); err != nil {
		return err
	}
	if _, err := buildProgram(ctx, folder, "small", "GOARCH=arm", "CGO_ENABLED=0"); err != nil {
		return err
	}
	return goBuild(ctx, filepath.Join(folder, "clew"), "./cmd/clew")
}

// runFaults demands the whole stack of a call of no landing pad, in generated code too, and of a write through a wrong tag, live and in the core
// file, where the goroutines that have not run yet must be whole, too. In a core file a goroutine whose thread is in C is found
// with whatever C has put where Go keeps its g. Where a return has
// led to an address with a wrong signature, the stack must end as truncated. That of a context ends where makecontext has it begin. A 32-bit program is refused by name.
func runFaults() string {
	return `bad=0
limit=` + minute() + `
clew() { timeout $limit "$built"/clew stack "$@" </dev/null; }
check() { if eval "$2"; then echo "$1: right"; else echo "$1: WRONG"; cat $3; bad=1; fi; }
built=$1
for kind in bti generated mte; do
	case $kind in bti) inner="no_pad call_no_pad" ;; generated) inner="call_generated" ;; mte) inner="write_tagged" ;; esac
	clew --format json -- "$built"/faults $kind >$kind.json 2>$kind.err
	rm -f core*; GOTRACEBACK=crash "$built"/faults $kind >$kind.crash 2>&1
	clew --core core* "$built"/faults >$kind.core 2>>$kind.err
	for f in $inner runtime.asmcgocall main.main; do
		check "$kind, live, $f" "grep -q '\"function\": *\"$f\"' $kind.json" "$kind.json $kind.err"
		check "$kind, core file, $f" "grep -q ' $f ' $kind.core" "$kind.core $kind.err"
	done
	check "$kind, live, the end" "grep -q '\"stop\": *\"end\"' $kind.json" "$kind.json $kind.err"
	check "$kind, core file, all ends" "grep -q 'force gc' $kind.core && ! grep -q truncated $kind.core" "$kind.core $kind.err"
done
rm -f core*; "$built"/faults abort >abort.crash 2>&1
clew --format json --core core* "$built"/faults >abort.core 2>abort.err
check "abort, core file, goroutine 1 on its thread" "grep -q '\"thread\":[0-9]*,\"goroutine\":1,\"frames\":\[{' abort.core && ! grep -q '\"frames\":\[\]' abort.core" "abort.core abort.err"
clew -- "$built"/faults pac >pac.txt 2>&1
check "pac, live" "grep -q interrupted pac.txt && grep -q truncated: pac.txt" pac.txt
clew --format json -- "$built"/faults context >context.json 2>context.err
check "context, live" "grep -q '\"function\": *\"in_context\"' context.json && grep -q '\"stop\": *\"end\"' context.json && grep -q '\"reason\": *\"__start_context' context.json" "context.json context.err"
clew -- "$built"/small >small.txt 2>&1
check "32 bits, launched" "grep -q '32-bit program, for arm' small.txt" small.txt
"$built"/small & pid=$!
sleep 1
clew --pid $pid >small.txt 2>&1
check "32 bits, running" "grep -q '32-bit program, for arm' small.txt" small.txt
kill -9 $pid
rm -f core*; GOTRACEBACK=crash "$built"/small crash >small.crash 2>&1
clew --core core* "$built"/small >small.txt 2>&1
check "32 bits, core file" "grep -q '32-bit program, for arm' small.txt" small.txt
rm -f core*
exit $bad`
}
