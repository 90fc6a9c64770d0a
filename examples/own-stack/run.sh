# A program writes its own stack in bytes; clew names it later, by its file.
cd "$(dirname "$0")"
. ../common.sh
go build -o "$dir/own" .
cd "$dir"
./own
clew decode --images own.cif --symbols own own.cbf
