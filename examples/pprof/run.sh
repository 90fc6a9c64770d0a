# The stacks of all goroutines as a profile, for go tool pprof.
cd "$(dirname "$0")"
. ../common.sh
clew stack --break froth --goroutine all --format pprof -o "$dir/stacks.pb.gz" -- "$PROGRAM"
go tool pprof -top -cum "$dir/stacks.pb.gz"
