# A script reads the JSON of a stack: functions with their trust.
cd "$(dirname "$0")"
. ../common.sh
clew stack --break froth --format json -o "$dir/stack.json" -- "$PROGRAM"
python3 read.py "$dir/stack.json"
