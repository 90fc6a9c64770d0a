# The stacks of a running program, twice: what did not move between?
cd "$(dirname "$0")"
. ../common.sh
"$PROGRAM" wait &
trap 'kill $!; rm -rf "$dir"' EXIT
sleep 1
clew stack --pid $! --goroutine all --format json -o "$dir/1.json"
clew stack --pid $! --goroutine all --format json -o "$dir/2.json"
python3 still.py "$dir/1.json" "$dir/2.json"
