# A plugin in Go: unwind/plugin/example, built, named in a configuration, and used.
cd "$(dirname "$0")"
. ../common.sh
go build -o "$dir/framechain" ../../unwind/plugin/example
cat > "$dir/clew.json" <<END
{"plugins": [{"name": "framechain", "path": "$dir/framechain", "sha256": "$(sha256sum "$dir/framechain" | cut -d' ' -f1)", "rank": 1}]}
END
clew plugins --clew-config "$dir/clew.json"
clew stack --evidence --clew-config "$dir/clew.json" --strategies framechain --break froth -- "$PROGRAM" || [ $? = 3 ]
