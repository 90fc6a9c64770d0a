# What another way to unwind makes of the same snapshot: where do the stacks differ?
cd "$(dirname "$0")"
. ../common.sh
clew stack --break froth --format snapshot -o "$dir/stack.snapshot.json" -- "$PROGRAM"
clew unwind "$dir/stack.snapshot.json" > "$dir/all.json"
clew unwind --strategies fpwalk "$dir/stack.snapshot.json" > "$dir/fpwalk.json" 2> "$dir/differences" || [ $? = 1 ] # not as expected: that is the point
for f in all fpwalk; do python3 -c 'import json, sys
for f in json.load(open(sys.argv[1]))["stacks"][0]["frames"]: print(f["pc"], f["strategy"], f.get("function", ""))' "$dir/$f.json" > "$dir/$f.txt"; done
diff "$dir/all.txt" "$dir/fpwalk.txt" | cat
cut -d' ' -f1 "$dir/all.txt" > "$dir/1"
cut -d' ' -f1 "$dir/fpwalk.txt" | cmp - "$dir/1" && echo "the same frames"
