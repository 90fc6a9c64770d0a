# A stripped program's stack is stored as addresses, and gets its names from the debug
# file, found by build ID.
cd "$(dirname "$0")"
. ../common.sh
cp "$PROGRAM" "$dir/app"
cd "$dir"
mkdir symbols
objcopy --only-keep-debug app symbols/app.debug
strip app
cp app symbols/
clew stack --break '*'"$(nm symbols/app.debug | awk '$3 == "froth" { print "0x" $1 }')" --format cbf -o crash.cbf -- ./app
clew decode --images crash.cif crash.cbf | sed -n 's/.*ra .*+0x.*/without names/p' | uniq
clew decode --images crash.cif --symbols symbols crash.cbf
