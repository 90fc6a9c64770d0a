# A plugin in Python: framechain.py, which serves clew's gRPC contract. Needs grpcio and
# protobuf for Python, and protoc (Debian: python3-grpcio protobuf-compiler).
cd "$(dirname "$0")"
. ../common.sh
protoc --python_out="$dir" -I ../../unwind/wire/unwindv1 unwinder.proto
cp framechain.py "$dir/framechain-py"
chmod +x "$dir/framechain-py"
cat > "$dir/clew.json" <<END
{"plugins": [{"name": "framechain-py", "path": "$dir/framechain-py", "args": ["$dir"],
              "sha256": "$(sha256sum "$dir/framechain-py" | cut -d' ' -f1)", "rank": 1}]}
END
clew plugins --clew-config "$dir/clew.json"
clew stack --evidence --clew-config "$dir/clew.json" --strategies framechain-py --break froth -- "$PROGRAM" || [ $? = 3 ]
