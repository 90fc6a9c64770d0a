# A stack with its image map in one line of JSON, as Swift's tools read it; so does clew.
cd "$(dirname "$0")"
. ../common.sh
go build -o "$dir/envelope" .
"$dir/envelope" > "$dir/stack.swift.json"
clew decode --symbols "$dir/envelope" "$dir/stack.swift.json"
