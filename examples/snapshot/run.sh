# A snapshot holds what the stack needs: clew unwind finds it again, offline.
cd "$(dirname "$0")"
. ../common.sh
clew stack --break froth --format snapshot -o "$dir/stack.snapshot.json" -- "$PROGRAM"
clew unwind "$dir/stack.snapshot.json" > "$dir/again.json"
python3 ../read-json/read.py "$dir/again.json"
